#include "rmap/requests/joined_calls.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "rmap/noted_reader.h"
#include "rmap/pipeline.h"
#include "rmap/timed_calls.h"

namespace countrace::rmap {
namespace {

constexpr std::size_t kMostLosses = std::size_t{1} << 16;

// Sorts, and joins what overlaps; of very many, all are one.
void Merge(std::vector<LostTime>& lost) {
  std::ranges::sort(lost, {}, &LostTime::begin_ns);
  std::vector<LostTime> merged;
  for (const LostTime& one : lost) {
    if (!merged.empty() &&
        (one.begin_ns <= merged.back().end_ns || lost.size() >= kMostLosses)) {
      merged.back().end_ns = std::max(merged.back().end_ns, one.end_ns);
    } else {
      merged.push_back(one);
    }
  }
  lost = std::move(merged);
}
void AddLoss(const LostTime& loss, std::vector<LostTime>& lost) {
  lost.push_back(loss);
  if (lost.size() >= kMostLosses) Merge(lost);
}

// What equal values have in common: of an integer below 0 its 64 bits without a
// sign, as a hook that takes it for unsigned has them.
std::string KeyOf(const std::string& id) {
  std::int64_t value = 0;
  if (!id.starts_with('-') || !absl::SimpleAtoi(id, &value)) return id;
  return std::to_string(static_cast<std::uint64_t>(value));
}

// A call that is open.
struct JoinedCall {
  std::uint32_t request;
  bool goes_on;            // this is not its first part
  std::uint64_t began_ns;  // the first did
};

class JoinedCalls final : public TimedCalls<JoinedCall>, public RecordNotes {
 public:
  JoinedCalls(const JoinValues& values, std::size_t most_calls)
      : values_(values), most_calls_(most_calls) {}

  void OnRecord(const logformat::EventRecord& record) override {
    record_ = &record;
  }
  void AfterRecord() override { record_ = nullptr; }

  void OnThread(ThreadIndex thread, std::int32_t tid) override {
    tids_[thread] = tid;
  }
  void OnSegment(const SegmentSpan& span) override {
    if (span.begin_inferred && values_.IsOf(span.hook_id) &&
        OpenCall(span.thread) == nullptr) {
      ++out_.without_value;
      out_.begun_before_until_ns =
          std::max(out_.begun_before_until_ns, span.end_ns);
      // It began before all records of the thread that are there since a loss.
      const auto since = lost_.find(tids_[span.thread]);
      AddLoss({std::max(since == lost_.end() ? 0 : since->second,
                        all_lost_until_ns_),
               span.end_ns},
              unknown_[span.thread]);
    }
    span_ = &span;
    TimedCalls::OnSegment(span);
  }
  void OnHook(const HookHit& hit) override {
    if (OpenCall(hit.thread) != nullptr) return;
    const auto request = RequestOf(hit.hook_id);
    if (!request) return;
    Keep({*request, hit.thread, hit.hook_id, /*is_point=*/true,
          /*end_inferred=*/false, /*on_cpu_exact=*/true, /*goes_on=*/false,
          IsSure(hit.thread), hit.time_ns, hit.time_ns, 0, 0, 0});
  }
  void OnLoss(const LossSpan& loss) override {
    const LostTime time{loss.begin_ns, loss.end_ns};
    const bool of_cpu = loss.cpu >= 0;
    if (of_cpu) AddLoss(time, out_.lost_of_cpus);
    if (!(of_cpu ? values_.of_kernel() : values_.of_programs())) return;
    AddLoss(time, out_.lost);
    if (of_cpu || loss.thread == kNoThread) {
      all_lost_until_ns_ = loss.end_ns;
    } else {
      lost_[tids_[loss.thread]] = loss.end_ns;
    }
  }

  // `lost_anywhere`: records of which not even the stream is known.
  Requests Take(std::uint64_t begin_ns, std::uint64_t end_ns,
                bool lost_anywhere) {
    if (lost_anywhere) {
      out_.lost.push_back({begin_ns, end_ns});
      for (RequestCall& call : out_.calls) call.is_sure = false;
    }
    if (out_.left_out != 0) out_.lost.push_back({left_out_from_ns_, end_ns});
    Merge(out_.lost_of_cpus);
    // A lost exec or exit may have ended it, or only seem to have: others may
    // be inside it that are not shown so, or not be inside it.
    std::uint64_t doubtful_from_ns = ~std::uint64_t{0};
    for (const LostTime& call : end_inferred_) {
      if (!Touches(out_.lost_of_cpus, call.begin_ns, call.end_ns)) continue;
      AddLoss(call, out_.lost);
      doubtful_from_ns = std::min(doubtful_from_ns, call.begin_ns);
    }
    for (RequestCall& call : out_.calls) {
      call.is_sure &= call.end_ns <= doubtful_from_ns;
    }
    Merge(out_.lost);
    DropInsideUnknown();
    Number();
    return std::move(out_);
  }

 private:
  static constexpr std::uint32_t kNoRequest = ~std::uint32_t{0};
  // The request of a call that began in a pause, in which no value is read.
  static constexpr std::uint32_t kNotRecorded = kNoRequest - 1;
  static constexpr std::size_t kIdBytes = 64;  // of a call, on average

  // Thread, hook, depth, and when the call began, which its stack is known by.
  using PartKey =
      std::tuple<ThreadIndex, std::uint32_t, std::uint32_t, std::uint64_t>;

  std::optional<JoinedCall> Begins(const SegmentBegin& begin,
                                   const JoinedCall* inside) override {
    if (inside != nullptr || !values_.IsOf(begin.hook_id)) return std::nullopt;
    if (begin.goes_on) {  // the record that is being read is not its enter
      const auto left = left_.find(
          {begin.thread, begin.hook_id, begin.depth, begin.began_ns});
      if (left == left_.end() && !begin.cut) return std::nullopt;
      if (left == left_.end()) {
        return JoinedCall{kNotRecorded, /*goes_on=*/true, begin.began_ns};
      }
      return JoinedCall{left->second, /*goes_on=*/true, begin.began_ns};
    }
    const auto request = RequestOf(begin.hook_id);
    if (request) return JoinedCall{*request, /*goes_on=*/false, begin.time_ns};
    ++out_.without_value;
    return std::nullopt;
  }
  void Ends(TimedCall call, JoinedCall of) override {
    if (of.request == kNotRecorded) {
      out_.without_value += span_->is_left ? 0 : 1;
      return;
    }
    const PartKey key(call.thread, call.hook_id, span_->depth, of.began_ns);
    if (span_->is_left) {
      left_[key] = of.request;
    } else if (of.goes_on) {
      left_.erase(key);
    }
    // Stacks change in a pause, too.
    if (of.goes_on && call.begin_ns == call.end_ns) return;
    if (call.end_inferred) {
      AddLoss({call.begin_ns, call.end_ns}, end_inferred_);
    }
    out_.has_kernel |= call.on_cpu_ns.has_value();
    Keep({of.request, call.thread, call.hook_id, /*is_point=*/false,
          call.end_inferred, call.on_cpu_ns && call.on_cpu_exact, of.goes_on,
          IsSure(call.thread), call.begin_ns, call.end_ns,
          call.on_cpu_ns.value_or(0), call.wait_ns, call.blocked_ns});
  }
  void Keep(const RequestCall& call) {
    if (call.request != kNoRequest && out_.calls.size() < most_calls_) {
      out_.calls.push_back(call);
      return;
    }
    left_out_from_ns_ = std::min(left_out_from_ns_, call.begin_ns);
    ++out_.left_out;
  }
  bool IsSure(ThreadIndex thread) {
    return all_lost_until_ns_ == 0 && !lost_.contains(tids_[thread]);
  }

  // From the record that is being read; kNoRequest: one more than there may be.
  std::optional<std::uint32_t> RequestOf(std::uint32_t hook_id) {
    if (record_ == nullptr || !IsRecordOf(*record_, hook_id, /*exit=*/false)) {
      return std::nullopt;
    }
    const auto id = values_.Of(*record_, hook_id);
    if (!id) return std::nullopt;
    const std::string key = KeyOf(*id);
    const auto found = numbers_.find(key);
    if (found != numbers_.end()) return found->second;
    if (out_.calls.size() >= most_calls_ ||
        id_bytes_ + id->size() > kIdBytes * most_calls_) {
      return kNoRequest;
    }
    id_bytes_ += id->size();
    const auto number = static_cast<std::uint32_t>(numbers_.size());
    if (key != *id) signed_ids_[number] = *id;
    return numbers_.emplace(key, number).first->second;
  }

  // What is inside a call whose value is not known, as its exit says later.
  void DropInsideUnknown() {
    for (auto& [thread, spans] : unknown_) Merge(spans);
    out_.without_value += std::erase_if(out_.calls, [&](const auto& call) {
      const auto found = unknown_.find(call.thread);
      if (found == unknown_.end()) return false;
      const auto span = std::ranges::lower_bound(found->second, call.end_ns, {},
                                                 &LostTime::end_ns);
      return span != found->second.end() && span->begin_ns <= call.begin_ns;
    });
  }

  // Numbers the requests by their begin, and sorts their calls.
  void Number() {
    std::vector<const std::string*> ids(numbers_.size());
    for (const auto& [id, number] : numbers_) ids[number] = &id;
    for (const auto& [number, id] : signed_ids_) ids[number] = &id;
    std::vector<std::uint32_t> by_begin(ids.size(), kNoRequest);
    std::ranges::sort(out_.calls, {}, [](const RequestCall& call) {
      return std::tuple(call.begin_ns, call.thread, call.end_ns);
    });
    for (RequestCall& call : out_.calls) {
      std::uint32_t& number = by_begin[call.request];
      if (number == kNoRequest) {
        number = static_cast<std::uint32_t>(out_.all.size());
        out_.all.push_back({*ids[call.request], 0});
      }
      call.request = number;
    }
    std::ranges::stable_sort(out_.calls, {}, &RequestCall::request);
    for (std::size_t i = out_.calls.size(); i-- > 0;) {
      out_.all[out_.calls[i].request].first_call = i;
    }
  }

  const JoinValues& values_;
  const std::size_t most_calls_;
  const logformat::EventRecord* record_ = nullptr;
  const SegmentSpan* span_ = nullptr;  // that is being read
  absl::flat_hash_map<std::string, std::uint32_t> numbers_;  // by KeyOf()
  std::map<std::uint32_t, std::string> signed_ids_;  // those that are below 0
  std::size_t id_bytes_ = 0;
  // The requests of calls that go on when the thread is back on their stack, or
  // behind a pause.
  std::map<PartKey, std::uint32_t> left_;
  std::vector<LostTime> end_inferred_;  // calls
  // Calls of these hooks without a recorded begin, which have others inside.
  std::map<ThreadIndex, std::vector<LostTime>> unknown_;
  // Until when records were lost: by tid, since another thread may have had it
  // then, and of all; 0: none were.
  std::map<std::int32_t, std::uint64_t> lost_;
  std::map<ThreadIndex, std::int32_t> tids_;
  std::uint64_t all_lost_until_ns_ = 0;
  std::uint64_t left_out_from_ns_ = ~std::uint64_t{0};
  Requests out_;
};

}  // namespace

absl::StatusOr<Requests> JoinCalls(logformat::TraceReader& reader,
                                   const JoinRule& rule,
                                   const logformat::ProgressCallback& progress,
                                   std::size_t most_calls) {
  const auto values = JoinValues::Bind(rule, reader.info());
  if (!values.ok()) return values.status();
  JoinedCalls joined(*values, most_calls);
  NotedReader noted(reader, joined);
  const auto report =
      Reconstruct(noted, {.observer = &joined, .progress = progress});
  if (!report.ok()) return report.status();
  const auto session = reader.session_discarded();
  Requests requests = joined.Take(
      report->begin_ns, report->end_ns,
      std::ranges::any_of(session,
                          [](std::uint64_t records) { return records != 0; }));
  requests.has_wakeups = requests.has_kernel && report->wakeups;
  requests.sums.reserve(requests.all.size());
  for (std::size_t i = 0; i < requests.all.size(); ++i) {
    requests.sums.push_back(SumsOf(requests, i));
  }
  return requests;
}

}  // namespace countrace::rmap
