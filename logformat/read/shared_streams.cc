#include "logformat/read/shared_streams.h"

#include <algorithm>
#include <compare>
#include <utility>

namespace countrace::logformat {

namespace {

// Without kernel records a whole stream would be one offer, and who has more to
// do than the other could not be helped. So many bytes at a time, on average,
// of all streams together.
constexpr std::uint64_t kSliceBytes = 128 << 10;
constexpr std::uint64_t kMaxSlices = 2048;
// If there are fewer bytes of threads to one of CPUs, what lies between two
// kernel records is not worth a message.
constexpr std::uint64_t kWorthwhile = 8;

}  // namespace

SharedStreams::SharedStreams(RunScheduler* scheduler,
                             std::vector<StreamCursor>& cursors,
                             std::uint64_t begin_ns, std::uint64_t end_ns)
    : scheduler_(scheduler),
      cursors_(cursors),
      end_ns_(end_ns),
      first_loss_ns_(StreamCursor::kEnd) {
  if (scheduler == nullptr) return;
  std::uint64_t thread_bytes = 0, cpu_bytes = 0;
  for (const StreamCursor& cursor : cursors) {
    const bool of_thread = cursor.stream_class() == StreamClass::kThread;
    (of_thread ? thread_bytes : cpu_bytes) += cursor.bytes();
  }
  if (thread_bytes / kWorthwhile < cpu_bytes) {
    scheduler_ = nullptr;
    return;
  }
  const std::uint64_t slices =
      std::clamp<std::uint64_t>(thread_bytes / kSliceBytes, 1, kMaxSlices);
  slice_ns_ = std::max<std::uint64_t>(
      1, (end_ns - std::min(begin_ns, end_ns)) / slices);
  streams_.resize(cursors.size());
  for (std::size_t i = 0; i < cursors.size(); ++i) {
    const StreamCursor& cursor = cursors[i];
    if (cursor.stream_class() != StreamClass::kThread) continue;
    first_loss_ns_ = std::min(first_loss_ns_, cursor.FirstLossNotBefore());
    streams_[i].heads = cursor.Heads();
  }
  FindContested();
}

void SharedStreams::FindContested() {
  struct Part {
    std::int32_t tid;
    std::uint64_t begin_ns, end_ns;
    std::size_t stream, head;
    auto operator<=>(const Part&) const = default;
  };
  std::vector<Part> parts;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    const std::vector<StreamCursor::Head>& heads = streams_[i].heads;
    streams_[i].contested.resize(heads.size());
    for (std::size_t k = 0; k < heads.size(); ++k) {
      parts.push_back({heads[k].tid, heads[k].begin_ns, heads[k].end_ns, i, k});
    }
  }
  std::sort(parts.begin(), parts.end());
  for (auto first = parts.begin(); first != parts.end();) {
    const auto last = std::find_if(first, parts.end(), [&](const Part& part) {
      return part.tid != first->tid;
    });
    // The latest end so far, and in which stream.
    auto latest = first;
    bool contested = false;
    for (auto part = first; part != last; ++part) {
      contested = contested || (part->stream != latest->stream &&
                                part->begin_ns <= latest->end_ns);
      if (part->end_ns >= latest->end_ns) latest = part;
    }
    const auto& ends = *latest;
    streams_[ends.stream].ends_thread =
        ends.head + 1 == streams_[ends.stream].heads.size();
    for (; first != last; ++first) {
      streams_[first->stream].contested[first->head] = contested;
    }
  }
}

bool SharedStreams::IsClear(const Shared& shared,
                            const EventRecord& head) const {
  if (shared.next_head == 0) return false;
  const StreamCursor::Head& said = shared.heads[shared.next_head - 1];
  return said.tid == head.tid && said.pid == head.pid &&
         !shared.contested[shared.next_head - 1];
}

SharedStreams::~SharedStreams() {
  if (scheduler_ != nullptr) scheduler_->ReturnAll();
}

bool SharedStreams::End() {
  if (scheduler_ == nullptr || first_loss_ns_ == StreamCursor::kEnd) {
    return false;
  }
  scheduler_->ReturnAll();
  scheduler_ = nullptr;
  return true;
}

std::optional<std::uint64_t> SharedStreams::Pass(std::uint32_t stream,
                                                 std::uint64_t next_ns) {
  if (scheduler_ == nullptr) return std::nullopt;
  const StreamCursor& cursor = cursors_[stream];
  Shared& shared = streams_[stream];
  if (shared.held) {
    if (!scheduler_->IsDone(stream)) {
      if (const auto passed = Offer(stream, next_ns, /*exact=*/false);
          passed.has_value()) {
        return passed;
      }
      if (IsAtRest(shared, next_ns)) return SliceEnd(next_ns);
      scheduler_->WaitFor(stream);
    }
    shared.held = false;
    if (cursor.next_ns() != next_ns) return cursor.next_ns();
  }
  if (!cursor.is_at_record()) return std::nullopt;
  shared.head = cursor.head();
  while (shared.next_head < shared.heads.size() &&
         shared.heads[shared.next_head].begin_ns <= next_ns) {
    ++shared.next_head;
  }
  if (!IsClear(shared, shared.head)) return std::nullopt;
  return Offer(stream, next_ns, /*exact=*/true);
}

bool SharedStreams::IsAtRest(const Shared& shared,
                             std::uint64_t next_ns) const {
  return shared.ends_thread && next_ns > shared.heads.back().end_ns &&
         next_ns <= end_ns_;
}

std::uint64_t SharedStreams::SliceEnd(std::uint64_t next_ns) const {
  // The end of a stream is not a time that it may wait at.
  const std::uint64_t last_ns = StreamCursor::kEnd - 1;
  return next_ns < last_ns - slice_ns_ ? next_ns + slice_ns_ : last_ns;
}

std::optional<std::uint64_t> SharedStreams::Offer(std::uint32_t stream,
                                                  std::uint64_t next_ns,
                                                  bool exact) {
  // After the end nothing is left to offer ahead: as long as the other thread
  // is late, slice after slice would be, up to the end of time.
  if (!exact && next_ns > end_ns_) return std::nullopt;
  const std::uint64_t last_ns = StreamCursor::kEnd - 1;
  Shared& shared = streams_[stream];
  // Another stream may go on with this thread.
  const std::uint64_t own_end_ns =
      std::min(shared.heads[shared.next_head - 1].end_ns, last_ns - 1) + 1;
  const std::uint64_t next_head_ns =
      shared.next_head < shared.heads.size()
          ? shared.heads[shared.next_head].begin_ns
          : last_ns;
  const std::uint64_t up_to_ns =
      std::min({first_loss_ns_, SliceEnd(next_ns), own_end_ns, next_head_ns});
  if (up_to_ns <= next_ns || !scheduler_->Hold(cursors_[stream], shared.head,
                                               next_ns, exact, up_to_ns)) {
    return std::nullopt;
  }
  shared.held = true;
  return up_to_ns;
}

}  // namespace countrace::logformat
