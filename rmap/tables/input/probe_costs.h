// The time that probes (uprobes, USDT probes, functions of the kernel) took in
// calls and processes, from the cost that the recorder measured
// (HookInfo::probe_cost).
//
// A probe's trap is outside the code that it measures, but inside the recorded
// time. So rows of segments are without it: each number less the estimate, in
// an interval from the limits of the cost. Processes and books keep it, since
// the process had the CPU; there it is a part, `recording`. Thread: any.
#ifndef COUNTRACE_RMAP_TABLES_INPUT_PROBE_COSTS_H_
#define COUNTRACE_RMAP_TABLES_INPUT_PROBE_COSTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>

#include "logformat/trace_info.h"
#include "rmap/result/tables.h"
#include "rmap/state/thread_registry.h"
#include "rmap/tables/input/attribution.h"

namespace countrace::rmap {

// The cost of probes in the calls of one path, or of several.
class ProbesInCalls {
 public:
  // `inner`: what a call of a path inside costs the code around it.
  void AddOwn(const logformat::ProbeCost::Range& inside, std::uint64_t calls,
              std::uint64_t whole_calls);
  void AddInner(const logformat::ProbeCost::Range& outside,
                std::uint64_t times);
  // Ends the exclusive part: what was added so far is at most `most_ns`.
  void Cap(std::uint64_t most_ns);
  // A path directly inside.
  void AddChild(const ProbesInCalls& child);
  // Another path of the same segment. `recursive`: a path around it has its
  // inclusive part.
  void AddPath(const ProbesInCalls& path, bool recursive);
  // Calls without a path of their own, of which only the number is known.
  void AddFolded(const logformat::ProbeCost& cost, std::uint64_t calls);

  bool any() const { return incl_.hi_ns != 0 || each_.hi_ns != 0; }
  const ProbeTime& incl() const { return incl_; }
  // Takes the cost out of the times and clocks of `row`, and sets its bounds
  // and qualities. Requires: everything else in it is complete.
  void TakeOut(const std::vector<EventPlan>& plans, SegmentRow& row) const;

 private:
  // Sums; `ns` is what is subtracted.
  ProbeTime incl_, excl_, each_;
  ProbeTime own_;  // of one call, its own two probes
  bool inner_ = false;
};

class ProbeCosts {
 public:
  ProbeCosts(const logformat::TraceInfo& info, bool has_dispatches,
             ThreadRegistry& registry);

  // Null: no probe of which the cost is known was hit in it.
  const ProbesInCalls* InPath(const PathNode& node) const;
  const logformat::ProbeCost* OfHook(std::uint32_t hook_id) const;
  // What all its probes took; absent: there were none.
  std::optional<ProbeTime> OfProcess(const ProcessState& process) const;

 private:
  // Between the two records of a call: no more than its shortest call.
  using InsideByHook = std::map<std::uint32_t, logformat::ProbeCost::Range>;
  InsideByHook AddPaths(const PathNode& root, bool has_dispatches);

  std::map<std::uint32_t, logformat::ProbeCost> hooks_;
  std::unordered_map<const PathNode*, ProbesInCalls> paths_;
  std::map<const ProcessState*, ProbeTime> processes_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_INPUT_PROBE_COSTS_H_
