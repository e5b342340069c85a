#include "rmap/slowest_calls.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace countrace::rmap {
namespace {

bool IsSlower(const SlowCall& a, const SlowCall& b) {
  return std::tuple(b.wall_ns(), a.begin_ns, a.thread) <
         std::tuple(a.wall_ns(), b.begin_ns, b.thread);
}

}  // namespace

void SlowestCalls::OnWait(const WaitSpan& wait) {
  const auto open = open_.find(static_cast<std::uint32_t>(wait.thread));
  if (open == open_.end()) return;
  for (Open& call : open->second) {
    // It may begin at the time of the switch-in, before that record.
    if (call.begin_ns > wait.begin_ns) continue;
    call.wait_ns += wait.end_ns - wait.begin_ns;
  }
}

void SlowestCalls::OnBlocked(const BlockedSpan& blocked) {
  const auto open = open_.find(static_cast<std::uint32_t>(blocked.thread));
  if (open == open_.end()) return;
  const std::uint64_t ns = blocked.end_ns - blocked.begin_ns;
  for (Open& call : open->second) {
    if (call.begin_ns > blocked.begin_ns) continue;
    call.blocked_ns += ns;
    call.woken_by[{blocked.kind, blocked.waker, blocked.waker_hook}] += ns;
  }
}

void SlowestCalls::ReadValues(std::uint32_t hook_id, bool exit,
                              where::RecordCondition::Values& values) const {
  if (condition_ == nullptr || record_ == nullptr) return;
  const bool of_hook =
      logformat::EventHookId(record_->event_id) == hook_id &&
      ((record_->event_id & logformat::kEventExitBit) != 0) == exit &&
      (record_->stream_class == logformat::StreamClass::kThread ||
       logformat::IsKernelHookEvent(record_->event_id));
  if (of_hook) condition_->Read(*record_, values);
}

void SlowestCalls::OnSegmentBegin(const SegmentBegin& begin) {
  if (begin.cut || !hooks_.contains(begin.hook_id)) return;
  std::vector<Open>& open = open_[static_cast<std::uint32_t>(begin.thread)];
  open.push_back({begin.depth, begin.time_ns});
  ReadValues(begin.hook_id, /*exit=*/false, open.back().values);
}

void SlowestCalls::OnSegment(const SegmentSpan& span) {
  if (span.begin_inferred || !hooks_.contains(span.hook_id)) return;
  std::vector<Open>& open = open_[static_cast<std::uint32_t>(span.thread)];
  while (!open.empty() && open.back().depth > span.depth) open.pop_back();
  if (open.empty() || open.back().depth != span.depth) return;
  Open sums = std::move(open.back());
  open.pop_back();
  if (span.begin_ns < range_.from_ns || span.begin_ns >= range_.until_ns) {
    return;
  }
  ReadValues(span.hook_id, /*exit=*/true, sums.values);
  if (condition_ != nullptr && !condition_->Holds(sums.values)) return;
  // A gap in the records may have ended the call, not the wait.
  const std::uint64_t wall_ns =
      std::max(span.begin_ns, span.end_ns) - span.begin_ns;
  const std::uint64_t off_cpu_ns =
      wall_ns - std::min(wall_ns, span.on_cpu_ns.value_or(0));
  sums.wait_ns = std::min(sums.wait_ns, off_cpu_ns);
  sums.blocked_ns = std::min(sums.blocked_ns, off_cpu_ns - sums.wait_ns);
  for (auto& [waker, ns] : sums.woken_by) ns = std::min(ns, sums.blocked_ns);
  SlowCall call{span.thread,       span.hook_id,
                span.begin_ns,     std::max(span.begin_ns, span.end_ns),
                span.end_inferred, span.on_cpu_ns,
                span.on_cpu_exact, sums.wait_ns,
                sums.blocked_ns,   std::move(sums.woken_by)};
  if (calls_.size() == most_) {
    if (most_ == 0 || !IsSlower(call, calls_.front())) return;
    std::pop_heap(calls_.begin(), calls_.end(), IsSlower);
    calls_.pop_back();
  }
  calls_.push_back(std::move(call));
  std::push_heap(calls_.begin(), calls_.end(), IsSlower);
}

std::vector<SlowCall> SlowestCalls::Take() {
  std::sort_heap(calls_.begin(), calls_.end(), IsSlower);
  return std::move(calls_);
}

}  // namespace countrace::rmap
