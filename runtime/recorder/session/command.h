// The command that is recorded: a child that waits for Start() before exec.
//
// It has the environment, signal mask, dispositions, process group and open
// files that it would have without us; our own files are close-on-exec. Thread:
// one.
#ifndef COUNTRACE_RUNTIME_RECORDER_SESSION_COMMAND_H_
#define COUNTRACE_RUNTIME_RECORDER_SESSION_COMMAND_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/posix/scoped_fd.h"
#include "runtime/recorder/request/record_options.h"
#include "runtime/recorder/session/stop_signals.h"

namespace countrace::runtime {

// "NAME=VALUE" to add or replace.
struct EnvironmentChange {
  std::string name;
  std::string value;
};

class Command {
 public:
  // Forks, and returns when the child waits for Start(), with nothing left to
  // do but to exec. `arguments[0]` is looked up in PATH. Returns:
  // RESOURCE_EXHAUSTED (processes, memory).
  static absl::StatusOr<std::unique_ptr<Command>> Fork(
      const std::vector<std::string>& arguments,
      const std::vector<EnvironmentChange>& environment,
      const StopSignals& signals);
  // Ends a command that was not started; a running one continues.
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  pid_t pid() const { return pid_; }
  // Readable when the command has ended; -1 where the kernel has no pidfds.
  int descriptor() const { return pidfd_.get(); }

  // Lets the child exec. Returns: NOT_FOUND no such program (a shell would exit
  // with 127); FAILED_PRECONDITION it cannot be executed (126).
  absl::Status Start();
  // wait(2) status once it has ended.
  std::optional<int> TryWait();
  // What it used, with the descendants that were waited for; absent until
  // TryWait() has returned its status.
  const std::optional<CommandUsage>& usage() const { return usage_; }
  void Signal(int number) const;

 private:
  Command() = default;
  pid_t pid_ = -1;
  base::ScopedFd pidfd_;
  // To the child: a byte = exec, end of file = exit. From it: a byte = it
  // waits; then the errno of a failed exec, end of file = success.
  base::ScopedFd channel_;
  std::string program_;
  std::optional<int> status_;
  std::optional<CommandUsage> usage_;
  bool started_ = false;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SESSION_COMMAND_H_
