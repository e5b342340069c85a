// Calls that a reader chooses, each with where its time went: on CPUs, waiting
// for one, or blocked, and by what that ended.
//
// A thread makes no call while it is on no CPU, so every wait and blocked
// interval lies in the calls that are open then. In: the spans of a
// reconstruction. Out: one TimedCall each, when it ends. Memory: by open calls,
// and by their wakers. Thread: one.
#ifndef COUNTRACE_RMAP_TIMED_CALLS_H_
#define COUNTRACE_RMAP_TIMED_CALLS_H_

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rmap/result/timeline_observer.h"

namespace countrace::rmap {

// What ended blocked time.
struct WokenBy {
  WakerKind kind;
  ThreadIndex thread;     // kThread; else kNoThread
  std::uint32_t hook_id;  // the waker's innermost open call; 0: none
  auto operator<=>(const WokenBy&) const = default;
};

struct TimedCall {
  ThreadIndex thread;
  std::uint32_t hook_id;
  std::uint64_t begin_ns, end_ns;
  bool end_inferred;                       // its exit is not recorded
  std::optional<std::uint64_t> on_cpu_ns;  // absent: no kernel records
  bool on_cpu_exact;
  std::uint64_t wait_ns, blocked_ns;
  std::map<WokenBy, std::uint64_t> woken_by;  // parts of blocked_ns

  std::uint64_t wall_ns() const { return end_ns - begin_ns; }
};

// `Note`: what the reader keeps of a call from its begin to its end.
template <typename Note>
class TimedCalls : public TimelineObserver {
 public:
  bool WantsCallCounts() const override { return true; }  // for on_cpu_exact
  void OnWait(const WaitSpan& wait) override;
  void OnBlocked(const BlockedSpan& blocked) override;
  void OnSegmentBegin(const SegmentBegin& begin) override;
  void OnSegment(const SegmentSpan& span) override;

 protected:
  // Absent: the call is not wanted. `inside`: the innermost open call of the
  // thread that is wanted; null: none. One that is `cut` has no record here.
  virtual std::optional<Note> Begins(const SegmentBegin& begin,
                                     const Note* inside) = 0;
  // The call's begin is recorded.
  virtual void Ends(TimedCall call, Note note) = 0;
  // The innermost open call of the thread that is wanted; null: none.
  const Note* OpenCall(ThreadIndex thread) const {
    const auto open = open_.find(static_cast<std::uint32_t>(thread));
    return open == open_.end() || open->second.empty()
               ? nullptr
               : &open->second.back().note;
  }

 private:
  struct Open {
    std::uint32_t depth, hook_id;
    std::uint64_t begin_ns;
    Note note;
    std::uint64_t wait_ns = 0, blocked_ns = 0;
    std::map<WokenBy, std::uint64_t> woken_by = {};
  };
  std::unordered_map<std::uint32_t, std::vector<Open>> open_;  // by thread
};

template <typename Note>
void TimedCalls<Note>::OnWait(const WaitSpan& wait) {
  const auto open = open_.find(static_cast<std::uint32_t>(wait.thread));
  if (open == open_.end()) return;
  for (Open& call : open->second) {
    // It may begin at the time of the switch-in, before that record.
    if (call.begin_ns > wait.begin_ns) continue;
    call.wait_ns += wait.end_ns - wait.begin_ns;
  }
}

template <typename Note>
void TimedCalls<Note>::OnBlocked(const BlockedSpan& blocked) {
  const auto open = open_.find(static_cast<std::uint32_t>(blocked.thread));
  if (open == open_.end()) return;
  const std::uint64_t ns = blocked.end_ns - blocked.begin_ns;
  for (Open& call : open->second) {
    if (call.begin_ns > blocked.begin_ns) continue;
    call.blocked_ns += ns;
    call.woken_by[{blocked.kind, blocked.waker, blocked.waker_hook}] += ns;
  }
}

template <typename Note>
void TimedCalls<Note>::OnSegmentBegin(const SegmentBegin& begin) {
  std::vector<Open>& open = open_[static_cast<std::uint32_t>(begin.thread)];
  while (!open.empty() && open.back().depth >= begin.depth) open.pop_back();
  std::optional<Note> note = Begins(begin, OpenCall(begin.thread));
  if (!note) return;
  open.push_back({begin.depth, begin.hook_id, begin.time_ns, *std::move(note)});
}

template <typename Note>
void TimedCalls<Note>::OnSegment(const SegmentSpan& span) {
  const auto found = open_.find(static_cast<std::uint32_t>(span.thread));
  if (span.begin_inferred || found == open_.end()) return;
  std::vector<Open>& open = found->second;
  while (!open.empty() && open.back().depth > span.depth) open.pop_back();
  if (open.empty() || open.back().depth != span.depth ||
      open.back().hook_id != span.hook_id) {
    return;
  }
  Open sums = std::move(open.back());
  open.pop_back();
  // A gap in the records may have ended the call, not the wait.
  const std::uint64_t wall_ns =
      std::max(span.begin_ns, span.end_ns) - span.begin_ns;
  const std::uint64_t off_cpu_ns =
      wall_ns - std::min(wall_ns, span.on_cpu_ns.value_or(0));
  sums.wait_ns = std::min(sums.wait_ns, off_cpu_ns);
  sums.blocked_ns = std::min(sums.blocked_ns, off_cpu_ns - sums.wait_ns);
  for (auto& [waker, ns] : sums.woken_by) ns = std::min(ns, sums.blocked_ns);
  Ends({span.thread, span.hook_id, span.begin_ns,
        std::max(span.begin_ns, span.end_ns), span.end_inferred, span.on_cpu_ns,
        span.on_cpu_exact, sums.wait_ns, sums.blocked_ns,
        std::move(sums.woken_by)},
       std::move(sums.note));
}

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TIMED_CALLS_H_
