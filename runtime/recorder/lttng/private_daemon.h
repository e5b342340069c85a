// An lttng-sessiond of our own, and the `lttng` commands that control it.
//
// It has a folder of its own in /tmp and does not see the user's sessions and
// configuration; the user's daemon, if there is one, does not see it. LTTng has
// no setting for root's run directory. For root our folder is therefore mounted
// over /run/lttng, visible to these processes only (a mount namespace each).
// Programs find the daemon by LTTNG_HOME.
//
// The daemon leads a process group of its own, so that Ctrl-C does not reach
// it. It ends when we end, even by SIGKILL. Thread: one, always the same.
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
  // message names the package), PERMISSION_DENIED (root without CAP_SYS_ADMIN),
  // UNAVAILABLE with the daemon's last output.
  static absl::StatusOr<std::unique_ptr<PrivateLttngDaemon>> Start(bool kernel);
  // Ends it and removes its folder.
  ~PrivateLttngDaemon();
  PrivateLttngDaemon(const PrivateLttngDaemon&) = delete;
  PrivateLttngDaemon& operator=(const PrivateLttngDaemon&) = delete;

  // Runs `lttng WORDS...`. Returns its output. If it failed: UNAVAILABLE with
  // the output; DEADLINE_EXCEEDED after a minute.
  absl::StatusOr<std::string> Run(const std::vector<std::string>& words) const;

  // The environment in which a program finds this daemon.
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
  bool made_place_ = false;  // /run/lttng did not exist
  mutable pid_t pid_ = -1;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_LTTNG_PRIVATE_DAEMON_H_
