// The options that choose a range of a trace: --from, --to, --at or
// --around, --window.
#ifndef COUNTRACE_CLI_PROGRAM_RANGE_OPTIONS_H_
#define COUNTRACE_CLI_PROGRAM_RANGE_OPTIONS_H_

#include "absl/status/status.h"
#include "cli/program/instant.h"
#include "cli/program/verb_parser.h"

namespace countrace::cli {

// `range` must outlive `parser`. `to`: the name of --to, where that is another
// option.
void AddRangeOptions(VerbParser& parser, RangeOptions& range,
                     const char* to = "--to");

// After Parse(). Errors: INVALID_ARGUMENT: options that do not go together.
absl::Status CheckRangeOptions(const VerbParser& parser,
                               const RangeOptions& range,
                               const char* to = "--to");

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_PROGRAM_RANGE_OPTIONS_H_
