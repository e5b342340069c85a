// Steps through a trace: the nearest instant with a boundary of some kind.
// O(log n) for each row that may have one.
#ifndef COUNTRACE_VIEWER_INDEX_INSTANT_NEAREST_STEP_H_
#define COUNTRACE_VIEWER_INDEX_INSTANT_NEAREST_STEP_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include "viewer/index/file/timeline_index.h"

namespace countrace::viewer {

enum StepKinds : std::uint32_t {
  kStepDispatch = 1u << 0,   // a dispatch begins or ends on a CPU
  kStepSegment = 1u << 1,    // a segment begins or ends
  kStepHook = 1u << 2,       // a point hook
  kStepInterrupt = 1u << 3,  // an interrupt handler begins or ends
  kStepLoss = 1u << 4,       // a time in which records were lost begins or ends
};

// The kind of this name: "dispatch", "segment", "hook", "interrupt", "loss".
std::optional<std::uint32_t> StepKindNamed(std::string_view name);

// Limits a step; absent means no limit.
struct StepFilter {
  std::optional<std::uint32_t> row;
  std::optional<std::set<std::uint32_t>> threads;  // indexes; no CPU rows
  std::optional<std::set<std::uint32_t>> hooks;    // ids; excludes dispatches
  std::optional<std::uint32_t> cpu;  // its dispatches and interrupts only
  bool begins_only = false;
};

struct Step {
  std::uint64_t time_ns;
  std::uint32_t row;
  std::uint64_t leaf;
  bool at_end;  // the leaf ends at the step
};

// The nearest boundary strictly after (`forward`) or before `time_ns`, of the
// requested kinds. Absent beyond the last one. If several share the instant,
// that of the first row.
std::optional<Step> NearestStep(const TimelineIndex& index,
                                std::uint64_t time_ns, bool forward,
                                std::uint32_t kinds,
                                const StepFilter& filter = {});

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_INSTANT_NEAREST_STEP_H_
