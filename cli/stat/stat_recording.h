// One run of `countrace stat`: a recording in a folder of its own, and the
// numbers of it.
//
//   RecordOptions -> runtime::Record() -> rmap::Reconstruct() -> StatRun
#ifndef COUNTRACE_CLI_STAT_STAT_RECORDING_H_
#define COUNTRACE_CLI_STAT_STAT_RECORDING_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/stat/stat_command_line.h"
#include "cli/stat/stat_thread_times.h"
#include "rmap/result/tables.h"
#include "rmap/stat/stat_numbers.h"
#include "runtime/recorder/request/record_options.h"

namespace countrace::cli {

struct StatRun {
  runtime::RecordResult recorded;
  rmap::Report report;
  std::vector<rmap::StatNumber> numbers;
  std::vector<ThreadSplit> splits;
  std::string splits_missing;  // why there are none
};

// Errors: of Record(), of reading the trace; of the folder.
absl::StatusOr<StatRun> RunOnce(const StatCommandLine& line,
                                runtime::RecordOptions record);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_STAT_STAT_RECORDING_H_
