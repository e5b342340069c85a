// Loads the tables of a trace into an engine, from where an earlier load of it
// ended.
//
//   ExportTables --> LoadingWriter --batches--> Engine
//
// Memory: that of the reconstruction, and kWaitingBytes of rows. Thread: one.
#ifndef COUNTRACE_RMAP_LOAD_LOAD_TRACE_H_
#define COUNTRACE_RMAP_LOAD_LOAD_TRACE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "logformat/read/trace_reader.h"
#include "rmap/load/engine.h"
#include "rmap/load/engine_cluster.h"

namespace countrace::rmap {

struct LoadRequest {
  std::string host;      // "": the trace's
  bool migrate = false;  // tables of another version: EngineTables
  bool texts = true;     // ExportRows
  std::int64_t batch_rows = kBatchRows;  // at most kBatchRows
};

struct Loaded {
  bool before = false;  // by an earlier load: nothing was done
  std::int64_t rows = 0, stored_before = 0;
};

// Errors: of the engine, UNAVAILABLE: the same load goes on where it ended; of
// ExportTables(); FAILED_PRECONDITION: the trace is being recorded, or
// EngineTables::CheckSchema().
absl::StatusOr<Loaded> LoadTrace(logformat::TraceReader& reader,
                                 const LoadRequest& request,
                                 const EngineCluster& cluster);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_LOAD_LOAD_TRACE_H_
