// The filters of `countrace script`: a range, --process, --thread, --hook.
#ifndef COUNTRACE_CLI_TRACE_SCRIPT_CHOICE_H_
#define COUNTRACE_CLI_TRACE_SCRIPT_CHOICE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/program/instant.h"
#include "logformat/progress.h"
#include "logformat/read/record_filter.h"
#include "logformat/read/trace_reader.h"

namespace countrace::cli {

struct ScriptOptions {
  RangeOptions range;
  std::vector<std::string> processes;  // pid, or glob on the name
  std::vector<std::string> threads;    // tid, or glob on the name
  std::vector<std::string> hooks;      // globs
};

// Reads the trace once if a name has to become numbers. Errors:
// INVALID_ARGUMENT, OUT_OF_RANGE as ParseRange(); NOT_FOUND if nothing in
// the trace has the name; those of the reader.
absl::StatusOr<logformat::RecordChoice> ChooseRecords(
    const ScriptOptions& options, logformat::TraceReader& reader,
    const logformat::ProgressCallback& progress);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_TRACE_SCRIPT_CHOICE_H_
