// Converts a trace of another tracer in a child process, whose memory, time and
// rights are limited (process_jail.h): libbabeltrace2 aborts, divides by zero
// or loops on some damaged traces.
//
// In: directories of CTF traces, or a perf.data file. Out: a countrace trace.
// Thread: one; forks.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PROGRAM_IMPORT_PROCESS_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PROGRAM_IMPORT_PROCESS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "logformat/progress.h"

namespace countrace::importer {

// 0: chosen by the size of the trace.
struct ImportLimits {
  std::uint64_t memory_bytes = 0;  // address space
  std::uint64_t cpu_seconds = 0;
  std::uint64_t output_bytes = 0;
  std::uint64_t files = 65536;  // open at a time, within the system's limit
  std::uint64_t stall_seconds = 60;  // without progress
};
// "memory=8G", "cpu=10m", "output=100G", "files=4096", "stall=5m".
absl::Status SetLimit(std::string_view text, ImportLimits& limits);

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
