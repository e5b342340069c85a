// Measures kinds of probes: a child process calls functions of its own, or a
// system call, with probes on them, with the same BPF programs and events as
// the recording.
//
// The child's records show when a probe's program ran, its clock when the call
// began and ended: so the cost is known in three parts. Nothing of it is in the
// recording, which has not begun. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PRICES_PROBE_MEASUREMENT_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PRICES_PROBE_MEASUREMENT_H_

#include <compare>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/probe_cost.h"
#include "runtime/recorder/kernel/bpf/load/bpf_program_options.h"
#include "runtime/recorder/kernel/functions/function_ways.h"
#include "runtime/recorder/kernel/hooks/probed_instruction.h"

namespace countrace::runtime {

struct ProbeKind {
  FunctionWay way = FunctionWay::kNone;  // of the kernel; none: a program's
  ProbedInstruction instruction = {};
  bool returns = false;  // they are probed, too
  // What a record stores: numbers, and texts.
  unsigned numbers = 0, texts = 0;
  auto operator<=>(const ProbeKind&) const = default;
};

// The parts of a call or hit: before the enter record, between the records,
// after the last one.
struct ProbeParts {
  logformat::ProbeCost::Range before, inside, after;
};

// `options`: of the recording; `kinds`: no two with probes on the same
// function, and all of programs or one of the kernel. Takes some tenths of a
// second. Returns: errors of BpfPrograms::Load(); UNIMPLEMENTED on this
// architecture; UNAVAILABLE the child was held up.
absl::StatusOr<std::map<ProbeKind, ProbeParts>> MeasureProbes(
    BpfProgramOptions options, const std::vector<ProbeKind>& kinds);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PRICES_PROBE_MEASUREMENT_H_
