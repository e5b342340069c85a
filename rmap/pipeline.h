// The whole reconstruction in one call: records in, tables out.
#ifndef COUNTRACE_RMAP_PIPELINE_H_
#define COUNTRACE_RMAP_PIPELINE_H_

#include "absl/status/statusor.h"
#include "logformat/read/trace_reader.h"
#include "rmap/gating_request.h"
#include "rmap/tables/tables.h"
#include "rmap/timeline_observer.h"

namespace countrace::rmap {

struct PipelineOptions {
  TimelineObserver* observer = nullptr;  // optional, must outlive the call
  GatingRequest gating = {};
  WantedRows rows = {};
  logformat::ProgressCallback progress = nullptr;
  // If `progress` says stop: true returns the report of what was read until
  // then (with Report::interrupted), false returns CANCELLED.
  bool keep_interrupted = false;
};

// Reads the trace once, in time order, with memory independent of its length.
// Errors: those of CheckRequest() and of TraceReader::Read(). A loss is in
// Report::loss, not an error.
absl::StatusOr<Report> Reconstruct(logformat::TraceReader& reader,
                                   const PipelineOptions& options);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_PIPELINE_H_
