#include "cli/record/record_exit.h"

#include <sys/wait.h>

#include "cli/program/exit_status.h"
#include "runtime/recorder/record.h"

namespace countrace::cli {

int CommandExitStatus(int wait_status) {
  if (WIFSIGNALED(wait_status)) return 128 + WTERMSIG(wait_status);
  return WEXITSTATUS(wait_status);
}

int RecordFailure(std::string_view verb, const absl::Status& status) {
  const int exit_status = ReportFailure(verb, status);
  if (absl::IsInvalidArgument(status)) return kExitUsage;
  const auto command_exit = status.GetPayload(runtime::kCommandExitPayload);
  if (command_exit.has_value()) return *command_exit == "127" ? 127 : 126;
  return exit_status;
}

}  // namespace countrace::cli
