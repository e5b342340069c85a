// Converts a trace of another tracer in a child process, whose memory, time and
// rights are limited (process_jail.h): libbabeltrace2 aborts, divides by zero
// or loops on some damaged traces.
//
// In: directories of CTF traces, or a perf.data file. Out: a countrace trace.
// Thread: one; forks.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PROGRAM_IMPORT_PROCESS_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PROGRAM_IMPORT_PROCESS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "logformat/import/program/import_limits.h"
#include "logformat/progress.h"

namespace countrace::importer {

struct ImportRequest {
  // Directories, searched recursively, or one perf.data file.
  std::vector<std::string> sources;
  std::string output;        // exists and is empty
  std::string mapping_file;  // "" = none
  ImportLimits limits;
  logformat::ProgressCallback progress;
  // Gets a sentence for the user if the system cannot confine the process.
  std::function<void(const std::string&)> say;
};

// Returns: INVALID_ARGUMENT why the trace cannot be read; RESOURCE_EXHAUSTED
// the limit that was reached, and the option that raises it; ABORTED the
// library died; NOT_FOUND no trace, or no import program; CANCELLED.
absl::Status ImportTrace(const ImportRequest& request);

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PROGRAM_IMPORT_PROCESS_H_
