// A trace as a file of Perfetto (ui.perfetto.dev, trace_processor).
//
//   TraceReader --Reconstruct--> Report: who is there
//   TraceReader --Reconstruct--> TraceObserver --> Packets --> the file
//
// It is read twice: a track has to be described before its first event, and the
// names of threads are known at the end. Memory: that of the
// reconstruction. Thread: one.
#ifndef COUNTRACE_RMAP_EXPORT_PERFETTO_PERFETTO_EXPORT_H_
#define COUNTRACE_RMAP_EXPORT_PERFETTO_PERFETTO_EXPORT_H_

#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "logformat/progress.h"
#include "logformat/read/trace_reader.h"

namespace countrace::rmap {

// `texts` false: without those that hooks stored. `parts` takes the file, part
// by part. Errors: of the reader and of `parts`;
// CANCELLED `progress` said stop; OUT_OF_RANGE a count of 2^63 or more.
absl::Status ExportPerfetto(
    logformat::TraceReader& reader, bool texts,
    const logformat::ProgressCallback& progress,
    const std::function<absl::Status(std::string_view)>& parts);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_EXPORT_PERFETTO_PERFETTO_EXPORT_H_
