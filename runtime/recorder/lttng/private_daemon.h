// An lttng-sessiond of our own, and the `lttng` commands it is told by.
//
// It lives in a folder of its own in /tmp, knows nothing of the user's sessions
// and configuration, and the user's daemon, if there is one, nothing of it.
// LTTng has no setting for root's run directory, so for root our folder is
// mounted over /run/lttng where only these processes see it (a mount namespace
// each). Programs find the daemon by LTTNG_HOME.
//
// The daemon leads a process group of its own, so that Ctrl-C does not reach
// it, and is ended when we are, even by SIGKILL. Thread: one, always the same.
#ifndef COUNTRACE_RUNTIME_RECORDER_LTTNG_PRIVATE_DAEMON_H_
#define COUNTRACE_RUNTIME_RECORDER_LTTNG_PRIVATE_DAEMON_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/recorder/session/command.h"

namespace countrace::runtime {

class PrivateLttngDaemon {
 public:
  // Starts lttng-sessiond and waits until it takes commands and programs.
  // `kernel`: with the kernel tracer. Returns: NOT_FOUND (not installed; the
  // message says what to install), PERMISSION_DENIED (root without
  // CAP_SYS_ADMIN), UNAVAILABLE with the daemon's last words.
  static absl::StatusOr<std::unique_ptr<PrivateLttngDaemon>> Start(bool kernel);
  // Ends it and removes its folder.
  ~PrivateLttngDaemon();
  PrivateLttngDaemon(const PrivateLttngDaemon&) = delete;
  PrivateLttngDaemon& operator=(const PrivateLttngDaemon&) = delete;

  // Runs `lttng WORDS...`. Returns its output; UNAVAILABLE with it if it
  // failed, DEADLINE_EXCEEDED after a minute.
  absl::StatusOr<std::string> Run(const std::vector<std::string>& words) const;

  // What a program needs in its environment to find this daemon.
  std::vector<EnvironmentChange> ProgramEnvironment() const;
  bool is_running() const;

 private:
  PrivateLttngDaemon() = default;
  absl::Status MakeFolder();
  absl::Status Launch(bool kernel);
  std::string LogTail() const;

  struct Child {
    pid_t pid = -1;
    int error = 0;
  };
  Child Spawn(const std::vector<std::string>& words, int output,
              bool is_daemon) const;

  std::string folder_, home_, run_;
  bool mounts_ = false;      // root: over /run/lttng
  bool made_place_ = false;  // /run/lttng was not there
  mutable pid_t pid_ = -1;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_LTTNG_PRIVATE_DAEMON_H_
