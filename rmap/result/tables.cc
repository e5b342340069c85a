#include "rmap/result/tables.h"

#include <algorithm>

namespace countrace::rmap {

void AddProgramTime(const ProgramTime& more, std::vector<ProgramTime>& sums) {
  const auto same = std::find_if(
      sums.begin(), sums.end(),
      [&more](const ProgramTime& sum) { return sum.comm == more.comm; });
  if (same == sums.end()) {
    sums.push_back(more);
  } else {
    same->on_cpu_ns += more.on_cpu_ns;
  }
}

const char* WakerKindName(WakerKind kind) {
  switch (kind) {
    case WakerKind::kThread:
      return "thread";
    case WakerKind::kInterrupt:
      return "interrupt";
    case WakerKind::kIdle:
      return "idle";
    case WakerKind::kOutside:
      return "outside";
    case WakerKind::kNotTold:
      return "not_told";
    case WakerKind::kStillBlocked:
      return "still_blocked";
    case WakerKind::kOther:
      return "other";
  }
  return "unknown";
}

const char* PreemptorKindName(PreemptorKind kind) {
  switch (kind) {
    case PreemptorKind::kThread:
      return "thread";
    case PreemptorKind::kInterrupts:
      return "interrupts";
    case PreemptorKind::kIdle:
      return "idle";
    case PreemptorKind::kIdleAllowed:
      return "idle_allowed";
    case PreemptorKind::kOutside:
      return "outside";
    case PreemptorKind::kThrottled:
      return "throttled";
    case PreemptorKind::kNotKnown:
      return "not_known";
    case PreemptorKind::kOther:
      return "other";
  }
  return "unknown";
}

ScaledCount InclusiveOf(const SegmentCount& count) {
  ScaledCount estimate;
  estimate.value = count.incl;
  estimate.counted = count.estimate->counted;
  estimate.running = count.estimate->running;
  estimate.enabled = count.estimate->enabled;
  estimate.slices = count.estimate->slices;
  estimate.standard_error = count.estimate->standard_error;
  estimate.freedom = count.estimate->freedom;
  return estimate;
}

ScaledCount ExclusiveOf(const SegmentCount& count) {
  ScaledCount estimate = InclusiveOf(count);
  estimate.value = count.excl;
  estimate.counted = 0;  // in the calls themselves: unknown
  estimate.standard_error = count.estimate->excl_standard_error;
  estimate.freedom = count.estimate->excl_freedom;
  return estimate;
}

}  // namespace countrace::rmap
