// Opens the trace of a reading verb and says on stderr what state it is in.
#ifndef COUNTRACE_CLI_OPEN_TRACE_H_
#define COUNTRACE_CLI_OPEN_TRACE_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "logformat/read/trace_reader.h"

namespace countrace::cli {

inline constexpr char kDefaultTrace[] = "countrace.ctf";

// Of a trace that countrace did not record, what it was converted to. Returns:
// as TraceReader::Open(), as TraceToRead().
absl::StatusOr<std::unique_ptr<logformat::TraceReader>> OpenTrace(
    std::string_view verb, const std::string& path);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_OPEN_TRACE_H_
