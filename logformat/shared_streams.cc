#include "logformat/shared_streams.h"

#include <algorithm>
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
  KeepContested();
}

void SharedStreams::KeepContested() {
  struct Owner {
    std::int32_t tid, pid;
    std::size_t stream;
    auto operator<=>(const Owner&) const = default;
  };
  std::vector<Owner> owners;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    for (const StreamCursor::Head& head : streams_[i].heads) {
      owners.push_back({head.tid, head.pid, i});
    }
  }
  std::sort(owners.begin(), owners.end());
  owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
  for (std::size_t i = 1; i < owners.size(); ++i) {
    if (owners[i].tid != owners[i - 1].tid) continue;
    streams_[owners[i].stream].heads.clear();
    streams_[owners[i - 1].stream].heads.clear();
  }
}

SharedStreams::~SharedStreams() {
  for (const Shared& stream : streams_) {
    if (stream.ticket != RunScheduler::kNo) scheduler_->WaitFor(stream.ticket);
  }
}

std::optional<std::uint64_t> SharedStreams::Pass(std::uint32_t stream,
                                                 std::uint64_t next_ns,
                                                 std::uint64_t limit_ns) {
  if (scheduler_ == nullptr) return std::nullopt;
  const StreamCursor& cursor = cursors_[stream];
  Shared& shared = streams_[stream];
  if (shared.ticket != RunScheduler::kNo) {
    if (!scheduler_->IsDone(shared.ticket)) {
      if (const auto passed = Offer(stream, next_ns, /*exact=*/false, limit_ns);
          passed.has_value()) {
        return passed;
      }
      scheduler_->WaitFor(shared.ticket);
    }
    shared.ticket = RunScheduler::kNo;
    if (cursor.next_ns() != next_ns) return cursor.next_ns();
  }
  if (!cursor.is_at_record() || shared.heads.empty()) return std::nullopt;
  shared.head = cursor.head();
  while (shared.next_head < shared.heads.size() &&
         shared.heads[shared.next_head].begin_ns <= next_ns) {
    ++shared.next_head;
  }
  return Offer(stream, next_ns, /*exact=*/true, limit_ns);
}

std::optional<std::uint64_t> SharedStreams::Offer(std::uint32_t stream,
                                                  std::uint64_t next_ns,
                                                  bool exact,
                                                  std::uint64_t limit_ns) {
  // All of an interval between two kernel records, or nothing: else a thread's
  // loss might come earlier among the others' records than without sharing.
  if (limit_ns > first_loss_ns_) return std::nullopt;
  // After the end nothing is left to offer ahead: as long as the other thread
  // is late, slice after slice would be, up to the end of time.
  if (!exact && next_ns > end_ns_) return std::nullopt;
  // The end of a stream is not a time that it may wait at.
  const std::uint64_t last_ns = StreamCursor::kEnd - 1;
  const std::uint64_t slice_end_ns =
      next_ns < last_ns - slice_ns_ ? next_ns + slice_ns_ : last_ns;
  Shared& shared = streams_[stream];
  const std::uint64_t head_end_ns =
      shared.next_head < shared.heads.size()
          ? shared.heads[shared.next_head].begin_ns
          : StreamCursor::kEnd;
  const std::uint64_t up_to_ns =
      std::min({limit_ns, slice_end_ns, head_end_ns});
  if (up_to_ns <= next_ns) return std::nullopt;
  const RunScheduler::Ticket ticket = scheduler_->Offer(
      cursors_[stream], shared.head, next_ns, exact, up_to_ns);
  if (ticket == RunScheduler::kNo) return std::nullopt;
  shared.ticket = ticket;
  return up_to_ns;
}

}  // namespace countrace::logformat
