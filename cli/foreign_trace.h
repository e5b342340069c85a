// Traces that countrace did not record, for every verb that reads traces: such
// a trace is converted once, into a private directory that is gone when the
// program ends.
#ifndef COUNTRACE_CLI_FOREIGN_TRACE_H_
#define COUNTRACE_CLI_FOREIGN_TRACE_H_

#include <string>

#include "absl/status/statusor.h"
#include "logformat/import/program/import_process.h"

namespace countrace::cli {

// The limits that --import-limit chose. Errors: INVALID_ARGUMENT.
absl::StatusOr<importer::ImportLimits> ChosenLimits();

// The directory to read for `path`: itself, or, of a foreign trace, that of its
// conversion, which is made at the first call. Errors: as ImportTrace().
absl::StatusOr<std::string> TraceToRead(const std::string& path);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_FOREIGN_TRACE_H_
