// `countrace stat` without a recording: --every prints one line an interval, at
// once, and --prometheus serves metrics, until Ctrl-C.
#ifndef COUNTRACE_CLI_STAT_STAT_LIVE_H_
#define COUNTRACE_CLI_STAT_STAT_LIVE_H_

#include "cli/program/verb_parser.h"
#include "cli/stat/stat_command_line.h"
#include "runtime/recorder/request/record_options.h"

namespace countrace::cli {

// Errors of usage are printed with `parser`. `record`: StatRecording().
// Returns: the exit status.
int StatLive(const VerbParser& parser, const StatCommandLine& line,
             const runtime::RecordOptions& record);

// Requires: StatRecording() accepted `line`. Returns: as StatLive().
int StatPrometheus(const VerbParser& parser, const StatCommandLine& line);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_STAT_STAT_LIVE_H_
