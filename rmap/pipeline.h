// The whole reconstruction in one call: records in, tables out.
#ifndef COUNTRACE_RMAP_PIPELINE_H_
#define COUNTRACE_RMAP_PIPELINE_H_

#include "absl/status/statusor.h"
#include "logformat/read/trace_reader.h"
#include "rmap/state/gate.h"
#include "rmap/tables/tables.h"
#include "rmap/timeline_observer.h"

namespace countrace::rmap {

struct PipelineOptions {
  TimelineObserver* observer = nullptr;  // optional, must outlive the call
  GatingRequest gating = {};
  logformat::ProgressCallback progress = nullptr;
  void* progress_context = nullptr;
  // If `progress` says stop: the report of what was read until then, which says
  // so (Report::interrupted); else CANCELLED.
  bool keep_interrupted = false;
  // 1: all on the caller's. Else a second one decodes while this reconstructs,
  // if the process may run on two CPUs (0) or in any case (2). The result is
  // the same.
  unsigned threads = 0;
  // For tests: the second one does nothing before it is waited for, as if
  // another program had its CPU.
  bool late_thread = false;
  // For tests, if not null: how many runs of records were meant for the second
  // one, how often a thread went from one to the other, how often all of one's
  // did, how often the first one waited for the second, and whether the result
  // is nevertheless of one that did all again.
  struct Sharing {
    std::uint64_t runs = 0, moves = 0, swaps = 0, waits = 0;
    bool again = false;
  };
  Sharing* sharing = nullptr;
};

// Reads the trace once, in time order, with memory independent of its length.
// Returns: as CheckRequest(); whatever TraceReader::Read returns; loss is in
// Report::loss, not an error.
absl::StatusOr<Report> Reconstruct(logformat::TraceReader& reader,
                                   const PipelineOptions& options);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_PIPELINE_H_
