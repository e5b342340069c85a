// The parsed command line of `countrace record`.
#ifndef COUNTRACE_CLI_RECORD_RECORD_COMMAND_LINE_H_
#define COUNTRACE_CLI_RECORD_RECORD_COMMAND_LINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cli/program/verb_parser.h"
#include "runtime/recorder/record.h"

namespace countrace::cli {

struct RecordCommandLine {
  runtime::RecordOptions record;  // options that go to the recorder unchanged
  std::string event_file;
  std::vector<std::string> events, hook_events, pids, kernel_records, marks;
  std::string mode = "stream";
  std::string backend = "auto";
  std::string rotate, count, preset, max_cpu;
  std::uint64_t sub_buffers = 4;
  std::string flight;
  std::uint64_t split_ns = 0, keep_ns = 0;
  std::uint64_t snapshot_bytes = 0;  // 0: not given
  std::string dry_run_trace, format;
  bool no_kernel = false, no_fault_records = false;
  bool quiet = false, fail_on_loss = false;

  bool records_kernel_hooks() const {
    return !kernel_records.empty() || record.arguments ||
           !record.dynamic_hooks.empty();
  }
};

// The options, and the command that follows them.
void AddRecordOptions(VerbParser& parser, RecordCommandLine& line);

// The --kernel words of a preset: "latency", "syscalls", "io" or "locks".
std::vector<std::string> PresetWords(const std::string& preset);

// "a,b" is a and b. A comma between slashes belongs to a name:
// "cpu/event=0x3c,umask=1/,page-faults".
std::vector<std::string> SplitNames(const std::vector<std::string>& lists);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_RECORD_RECORD_COMMAND_LINE_H_
