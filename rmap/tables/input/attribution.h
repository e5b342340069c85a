// Which events can be attributed to segments, from which records, and with
// which quality.
//
// Thread: one.
#ifndef COUNTRACE_RMAP_TABLES_INPUT_ATTRIBUTION_H_
#define COUNTRACE_RMAP_TABLES_INPUT_ATTRIBUTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "logformat/trace_info.h"
#include "rmap/result/tables.h"
#include "rmap/state/call_paths.h"

namespace countrace::rmap {

struct EventPlan {
  std::string name;
  std::optional<std::size_t> cpu_event;     // index in the kernel's dumps
  std::optional<std::size_t> thread_event;  // index in the dumps at hooks
  SegmentSource source = SegmentSource::kNone;
  std::size_t dump = 0;  // index in SegmentSums::dumps
};

// What the whole trace contains.
struct KernelFacts {
  bool dispatches = false;
  bool fault_records = false;
  bool kernel_dumps = false;
  std::size_t thread_events = 0;  // the kernel's dumps follow these
  // Page faults that the counters saw in threads. Without fault records, 0 is
  // exact only if this is 0 too.
  std::uint64_t counted_faults = 0;
};

// True for the event that fault records count, under each of its perf names.
bool IsOnCpuTime(const std::string& event);
bool IsPageFaults(const std::string& event);

// One entry for each event of Report::events: the kernel's dump events, then
// the thread events that are not among them.
std::vector<EventPlan> PlanEvents(const logformat::TraceInfo& info);
// Sets `source` of each event; called after the last record.
void ChooseSources(const KernelFacts& facts, std::vector<EventPlan>& plans);

// Sums of one row: of one path, or of all paths of a segment.
struct SegmentSums {
  std::uint64_t wall_ns = 0, on_cpu_ns = 0, switches = 0, faults = 0;
  std::uint64_t wait_ns = 0, blocked_ns = 0;
  std::vector<DumpSum> dumps;
};
struct SegmentAmounts {
  SegmentSums incl, excl;
};

// Inclusive sums of `node`, and exclusive sums without its children.
SegmentAmounts AmountsOf(const PathNode& node);
// Adds a path to its segment's row. `from.incl` of a recursive path is left
// out: an outer call already includes it.
void AddAmounts(const SegmentAmounts& from, bool recursive, SegmentAmounts& to);
std::optional<SegmentCount> CountOf(const EventPlan& plan,
                                    const SegmentAmounts& amounts);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_INPUT_ATTRIBUTION_H_
