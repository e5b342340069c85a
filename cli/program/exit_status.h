// Exit statuses, and output to stdout and stderr.
#ifndef COUNTRACE_CLI_PROGRAM_EXIT_STATUS_H_
#define COUNTRACE_CLI_PROGRAM_EXIT_STATUS_H_

#include <string_view>

#include "absl/status/status.h"
#include "logformat/loss.h"

namespace countrace::cli {

enum ExitStatus : int {
  kExitOk = 0,
  kExitFailed = 1,
  kExitUsage = 2,
  kExitLoss = 3,        // not all that was asked for (--fail-on-loss)
  kExitRegression = 4,  // `diff`; `report --validate`
  kExitPrivilege = 5,
  kExitInterrupted = 130,  // Ctrl-C during reading; the shells' number
};

// kExitLoss if `statement` is of a loss and the user said --fail-on-loss.
inline int ExitOf(const logformat::LossStatement& statement,
                  bool fail_on_loss) {
  return fail_on_loss && statement.is_loss ? kExitLoss : kExitOk;
}

// Prints "countrace VERB: message" on stderr.
// Returns: kExitPrivilege for PERMISSION_DENIED, kExitInterrupted for
//   CANCELLED, else kExitFailed.
int ReportFailure(std::string_view verb, const absl::Status& status);

// Marks an INVALID_ARGUMENT as wrong usage: the request does not fit the trace.
absl::Status AsUsage(absl::Status status);
bool IsUsage(const absl::Status& status);

// Prints "countrace VERB: message" on stderr. Names from a trace in `message`
// are escaped.
void Say(std::string_view verb, std::string_view message);

// Writes `data` to stdout. Returns: `status`, or kExitFailed with a message if
// not all could be written (disk full). A closed pipe ends the program before
// that, as in any filter.
int PrintData(std::string_view verb, std::string_view data,
              int status = kExitOk);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_PROGRAM_EXIT_STATUS_H_
