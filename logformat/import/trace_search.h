// Finds the CTF traces in a directory, as babeltrace2 does: a directory with a
// `metadata` file is one; a session of LTTng holds several. Knows perf.data
// files by their first bytes.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_TRACE_SEARCH_H_
#define COUNTRACE_LOGFORMAT_IMPORT_TRACE_SEARCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace countrace::importer {

// What a path is, as far as its metadata tells.
enum class TraceOrigin {
  kCountrace,  // or nothing that could be read in another way
  // CTF of another tracer, a directory with such traces in it, or perf.data.
  kForeign,
};
TraceOrigin OriginOf(const std::string& path);

// Whether `path` is a file that perf record wrote, of either byte order.
bool IsPerfDataFile(const std::string& path);

struct CtfTraces {
  std::vector<std::string> directories;  // sorted
  std::uint64_t bytes = 0;               // of their files
};
// Symbolic links are not followed below `path`.
// Returns: NOT_FOUND, INVALID_ARGUMENT no trace in it, or more than 4096.
absl::StatusOr<CtfTraces> FindCtfTraces(const std::string& path);

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_TRACE_SEARCH_H_
