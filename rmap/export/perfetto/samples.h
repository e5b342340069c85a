// Samples with their stacks, as Perfetto has those of perf: a sequence for each
// sampled event, with its own interned callstacks, frames and mappings.
#ifndef COUNTRACE_RMAP_EXPORT_PERFETTO_SAMPLES_H_
#define COUNTRACE_RMAP_EXPORT_PERFETTO_SAMPLES_H_

#include "rmap/export/perfetto/packets.h"
#include "rmap/result/samples.h"

namespace countrace::rmap::perfetto {

// Returns: how many samples are left out, because there are more than
// Samples::timed holds: all, or none. Requires: report.samples.
std::uint64_t WriteSamples(const Report& report, Packets& packets);

}  // namespace countrace::rmap::perfetto

#endif  // COUNTRACE_RMAP_EXPORT_PERFETTO_SAMPLES_H_
