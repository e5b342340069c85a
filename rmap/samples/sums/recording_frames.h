// The cost of recording in sampled stacks: what the kernel executes for the
// recorder's probes and BPF programs, as one frame. Thread: any.
#ifndef COUNTRACE_RMAP_SAMPLES_SUMS_RECORDING_FRAMES_H_
#define COUNTRACE_RMAP_SAMPLES_SUMS_RECORDING_FRAMES_H_

#include <cstdint>
#include <vector>

#include "rmap/result/samples.h"

namespace countrace::rmap {

// Makes the outermost frame of what recording took one of kRecordingCode, and
// innermost in its samples. `has_probes`: the traps in stacks are of the
// recorder's probes. Returns: the frame that stands for each; empty: itself.
// Requires: sums are sorted.
std::vector<std::uint32_t> JoinRecording(bool has_probes, Samples& samples);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_SUMS_RECORDING_FRAMES_H_
