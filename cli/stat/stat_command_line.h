// The parsed command line of `countrace stat`.
#ifndef COUNTRACE_CLI_STAT_STAT_COMMAND_LINE_H_
#define COUNTRACE_CLI_STAT_STAT_COMMAND_LINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/program/verb_parser.h"
#include "runtime/recorder/request/record_options.h"

namespace countrace::cli {

struct StatCommandLine {
  std::vector<std::string> command, events, pids, triggers;
  std::string cgroup, event_file, rotate, by, output, cost, counts, prometheus;
  std::uint64_t duration_ns = 0, every_ns = 0, repeat = 1, rows = 20;
  bool all_cpus = false, all_events = false, json = false, csv = false;
  bool perfex = false, top = false;
  bool operator==(const StatCommandLine&) const = default;
};

void AddStatOptions(VerbParser& parser, StatCommandLine& line);

// What is counted, in words: "make -j2", "the machine".
std::string CountedBy(const StatCommandLine& line);

// The recording behind the counts, without its place. Errors: INVALID_ARGUMENT
// for wrong usage; PERMISSION_DENIED for counts that need kernel records.
absl::StatusOr<runtime::RecordOptions> StatRecording(
    const StatCommandLine& line);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_STAT_STAT_COMMAND_LINE_H_
