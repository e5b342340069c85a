// The whole reconstruction in one call: records in, tables out.
#ifndef COUNTRACE_RMAP_PIPELINE_H_
#define COUNTRACE_RMAP_PIPELINE_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "logformat/read/trace_reader.h"
#include "rmap/result/data_detail.h"
#include "rmap/result/tables.h"
#include "rmap/result/timeline_observer.h"
#include "rmap/state/gating_request.h"

namespace countrace::rmap {

struct Samples;
struct TimedSample;

// A part of a trace, half-open, on CLOCK_MONOTONIC.
//
// Its tables are those of a recording from `from_ns` to `until_ns` that knew
// what the records before say. Time is cut at the edges, exactly: it adds up
// over neighbouring ranges. Calls, dispatches and hits belong to the range that
// they begin in; a call that is open at its begin has its times alone. Counts
// without records that an edge cuts (cycles) are in neither range, and in the
// limits of the threads that may have them.
struct TableRange {
  std::uint64_t from_ns = 0;
  std::uint64_t until_ns = ~std::uint64_t{0};
};

struct PipelineOptions {
  TimelineObserver* observer = nullptr;  // optional, must outlive the call
  GatingRequest gating = {};
  WantedRows rows = {};
  // The observer also gets what ends before a range begins, and spans with the
  // begin that they had before it.
  TableRange range = {};
  std::size_t most_timed_samples = 0;  // Samples::timed; 0: none are wanted
  // With WantedRows::samples: gets each in the order of the records, once all
  // were read.
  std::function<void(const Samples&, const TimedSample&)> on_sample = nullptr;
  logformat::ProgressCallback progress = nullptr;
  // If `progress` says stop: true returns the report of what was read until
  // then (with Report::interrupted), false returns CANCELLED.
  bool keep_interrupted = false;
  // Samples::data_sums, with WantedRows::samples.
  DataDetail data = DataDetail::kNone;
};

// Reads the trace once, in time order, with memory independent of its length.
// Errors: those of CheckRequest(), of TraceReader::Read(), and of a disk where
// there is no room for single samples. A loss is in
// Report::loss, not an error.
absl::StatusOr<Report> Reconstruct(logformat::TraceReader& reader,
                                   const PipelineOptions& options);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_PIPELINE_H_
