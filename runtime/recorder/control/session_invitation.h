// Invites processes with hooks that run already, or that start during the
// recording without its environment, to join it (`record -p`, `record -a`).
//
// In: the control pages of running processes (process_control.h), and the
// folders where new ones appear. Out: the processes that joined; failures with
// their reasons. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_CONTROL_SESSION_INVITATION_H_
#define COUNTRACE_RUNTIME_RECORDER_CONTROL_SESSION_INVITATION_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/posix/scoped_fd.h"
#include "logformat/trace_info.h"
#include "runtime/recorder/control/process_control.h"
#include "runtime/recorder/directory/thread_ids_file.h"
#include "runtime/recorder/directory/user_sessions.h"

namespace countrace::runtime {

class SessionInvitation {
 public:
  // `trace`: directory of the recording, with its published session, which must
  // outlive this object. `pids` empty: every process.
  SessionInvitation(std::string trace, const logformat::SessionControl& session,
                    std::vector<std::int32_t> pids);

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
  // Whether the runtime is in the process, or a message names it.
  bool Covers(std::int32_t pid) const { return known_.contains(pid); }
  // Readable when InviteNew() has work; -1: not on this system.
  int descriptor() const { return watch_.get(); }

  // At the end: refuses those whose control page was locked until now, and, if
  // every process was meant, those that started without the runtime meanwhile
  // and still run: their start leaves no control page.
  void GiveUp();

  // Programs of other users: their sessions.
  UserSessions& users() { return users_; }
  const UserSessions& users() const { return users_; }
  // Processes of other users that joined.
  std::size_t others_joined() const { return others_joined_; }

  // The processes that did not join, with reason and remedy, without those that
  // have ended. With `pids` empty, those in other recordings share one message;
  // the first kMostNamed others have one each.
  std::vector<std::string> TakeMessages();
  // Those of them that have hooks, for the trace. Before TakeMessages().
  std::vector<logformat::NotRecorded> NotJoined() const;

 private:
  struct Asked {
    ProcessControl control;
    std::string directory;  // that it was asked to join
    std::uint64_t deadline_ns;
  };
  void Ask(std::int32_t pid, bool named);
  void TakeAnswers(bool wait);
  bool IsInScope(std::int32_t pid) const;
  void Refuse(std::int32_t pid, const absl::Status& status, bool has_hooks);
  bool ProgramHasHooks(std::int32_t pid);

  std::string trace_;
  UserSessions users_;
  ThreadIdsFile ids_;
  std::vector<std::int32_t> pids_;
  base::ScopedFd watch_;  // inotify on the folders of control pages
  std::vector<Asked> asked_;
  // Until when (CLOCK_MONOTONIC) they are tried again: another one controls
  // them.
  std::map<std::int32_t, std::uint64_t> locked_;
  std::set<std::int32_t> asked_early_;  // that ran when the recording began
  std::set<std::int32_t> known_;
  // By device and inode of a program's file: it has hooks.
  std::map<std::pair<std::uint64_t, std::uint64_t>, bool> programs_;
  static constexpr std::size_t kMostNamed = 20;
  struct Refused {
    std::string message;
    bool has_hooks;
  };
  std::string ElsewhereMessage() const;
  std::string MoreMessage() const;
  std::vector<Refused> refused_;
  std::size_t refused_more_ = 0;  // with hooks, beyond kMostNamed
  std::size_t others_joined_ = 0;
  std::size_t elsewhere_ = 0;  // processes in other recordings
  std::string first_elsewhere_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_CONTROL_SESSION_INVITATION_H_
