// The trace of a listing of counts: each CPU has a thread of a process of the
// tool's name, and a dump for each of its rows.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_LISTING_TRACE_H_
#define COUNTRACE_LOGFORMAT_IMPORT_LISTING_TRACE_H_

#include "absl/status/status.h"
#include "logformat/import/listing/listing.h"
#include "logformat/import/trace_output.h"

namespace countrace::importer {

// Writes the records and describes the trace. Errors: those of `output`.
absl::Status WriteListing(const Listing& listing, TraceOutput& output);

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_LISTING_TRACE_H_
