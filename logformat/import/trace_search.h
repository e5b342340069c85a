// Finds the CTF traces in a directory, as babeltrace2 does: a directory with a
// `metadata` file is one; an LTTng session holds several. Recognizes perf.data
// files by their first bytes.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_TRACE_SEARCH_H_
#define COUNTRACE_LOGFORMAT_IMPORT_TRACE_SEARCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace countrace::importer {

// The kind of trace at a path, judged by its metadata.
enum class TraceOrigin {
  kCountrace,  // or a path that no other kind matches
  // CTF of another tracer, a directory with such traces in it, or perf.data.
  kOtherTool,
};
TraceOrigin OriginOf(const std::string& path);

// True if `perf record` wrote the file, in either byte order.
bool IsPerfDataFile(const std::string& path);
// True if it begins as a listing of counts does (listing/listing.h).
bool IsListingFile(const std::string& path);

struct CtfTraces {
  std::vector<std::string> directories;  // sorted
  std::uint64_t bytes = 0;               // of their files
};
// Symbolic links are not followed below `path`.
// Returns: NOT_FOUND, INVALID_ARGUMENT no trace in it, or more than 4096;
// UNAVAILABLE another process leases a file of it.
absl::StatusOr<CtfTraces> FindCtfTraces(const std::string& path);

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_TRACE_SEARCH_H_
