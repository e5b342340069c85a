// Reads a trace on two CPUs: one thread decodes and merges the streams, the
// caller's consumes what it found, some thousand records behind.
//
// The items, their order and the errors are those of TraceReader::Read(); and
// it is Read() for a reader that does not keep what records point to.
#ifndef COUNTRACE_LOGFORMAT_READ_READ_AHEAD_H_
#define COUNTRACE_LOGFORMAT_READ_READ_AHEAD_H_

#include "absl/status/status.h"
#include "logformat/read/trace_reader.h"

namespace countrace::logformat {

// As reader.Read(sink, progress, progress_context). `sink` and `progress` are
// called on this thread, nothing else may use `reader` until it returns. Spans
// and counters of a record stay valid during its call only, as always.
absl::Status ReadAhead(TraceReader& reader, ItemSink& sink,
                       ProgressCallback progress = nullptr,
                       void* progress_context = nullptr);

// True if this process may run on two CPUs at once; else it is Read() and more.
bool IsReadAheadWorthwhile();

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_READ_READ_AHEAD_H_
