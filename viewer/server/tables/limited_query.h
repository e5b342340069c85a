// `countrace query` for the page: in a process of its own, with limits of time
// and memory that the kernel and this process enforce.
//
//   statement --> countrace query (limited) --CSV--> its first bytes
//
// Thread: any; a later query of a trace ends an earlier one.
#ifndef COUNTRACE_VIEWER_SERVER_TABLES_LIMITED_QUERY_H_
#define COUNTRACE_VIEWER_SERVER_TABLES_LIMITED_QUERY_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "viewer/index/rows/interval_row.h"

namespace countrace::viewer {

struct QueryLimits {
  std::chrono::milliseconds time{10'000};
  // And as much of its database.
  std::uint64_t memory_bytes = std::uint64_t{256} << 20;
  std::size_t answer_bytes = std::size_t{1} << 20;
  std::string program = "/proc/self/exe";  // countrace
};

struct QueryAnswer {
  std::string csv;        // a line of names, then rows; whole lines
  bool cut = false;       // there are more rows
  std::string said = {};  // by the command, beside them
};

// `range`: ns since the trace's begin, half-open; absent: the whole trace.
// Errors: INVALID_ARGUMENT what the command says of the statement;
// RESOURCE_EXHAUSTED a limit was reached; CANCELLED a later query has come;
// those of starting it.
absl::StatusOr<QueryAnswer> RunLimitedQuery(const std::string& trace_path,
                                            const std::string& sql,
                                            std::optional<TimeRange> range,
                                            const QueryLimits& limits = {});

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_TABLES_LIMITED_QUERY_H_
