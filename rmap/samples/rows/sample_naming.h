// Names the code of single samples, for a place without the programs. Thread:
// one.
#ifndef COUNTRACE_RMAP_SAMPLES_ROWS_SAMPLE_NAMING_H_
#define COUNTRACE_RMAP_SAMPLES_ROWS_SAMPLE_NAMING_H_

#include "logformat/trace_info.h"
#include "rmap/result/samples.h"
#include "rmap/samples/names/named_samples.h"

namespace countrace::rmap {

// Requires: `samples` has `timed`, or no samples.
NamedSamples NameSamples(const Samples& samples,
                         const logformat::TraceInfo& info);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_ROWS_SAMPLE_NAMING_H_
