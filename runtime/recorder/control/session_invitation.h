// Invites processes with hooks that run already, or that start during the
// recording without its environment, to join it (`record -p`, `record -a`).
//
// In: the control pages of running processes (process_control.h), and the
// folders where new ones appear. Out: the processes that joined; failures with
// their reasons. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_CONTROL_SESSION_INVITATION_H_
#define COUNTRACE_RUNTIME_RECORDER_CONTROL_SESSION_INVITATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/posix/scoped_fd.h"
#include "runtime/recorder/control/process_control.h"
#include "runtime/recorder/directory/thread_ids_file.h"
#include "runtime/recorder/directory/trace_access.h"

namespace countrace::runtime {

class SessionInvitation {
 public:
  // `trace`: directory of the recording. `pids` empty: every process.
  SessionInvitation(std::string trace, std::vector<std::int32_t> pids);

  // Whether a process with hooks exists: a recording without the kernel's side
  // is then still useful.
  static bool AnyProcess(const std::vector<std::int32_t>& pids);

  // Sends requests to all running ones and waits for their answers, at most 2 s
  // together.
  void InviteRunning();
  // Sends requests to those that have started since; with `pids`, to
  // descendants of them. Does not wait for answers; processes those that have
  // arrived.
  void InviteNew();
  // Readable when InviteNew() has work; -1: not on this system.
  int descriptor() const { return watch_.get(); }

  // The processes that did not join, with reason and remedy, without those that
  // have ended. With `pids` empty, those in other recordings share one message.
  std::vector<std::string> TakeMessages();

 private:
  struct Asked {
    ProcessControl control;
    std::uint64_t deadline_ns;
  };
  void Ask(std::int32_t pid, bool named);
  void TakeAnswers(bool wait);
  bool IsInScope(std::int32_t pid) const;
  void Refuse(std::int32_t pid, const absl::Status& status);

  std::string trace_;
  TraceAccess access_;
  ThreadIdsFile ids_;
  std::vector<std::int32_t> pids_;
  base::ScopedFd watch_;  // inotify on the folders of control pages
  std::vector<Asked> asked_;
  std::vector<std::string> messages_;
  std::size_t elsewhere_ = 0;  // processes in other recordings
  std::string first_elsewhere_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_CONTROL_SESSION_INVITATION_H_
