// Lets programs of other users take part in a recording of root.
//
// Each such user has a folder of his own in the trace directory, which he owns
// (session_layout.h, `.user-UID`), with a session and a hook registry of his
// own: no user can write what another user's process maps. We read and write
// his session by pread(2) and pwrite(2), so a cut file is an error here and no
// SIGBUS. FinishTrace() adopts the records. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_DIRECTORY_USER_SESSIONS_H_
#define COUNTRACE_RUNTIME_RECORDER_DIRECTORY_USER_SESSIONS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/posix/scoped_fd.h"
#include "logformat/session_layout.h"

namespace countrace::runtime {

class UserSessions {
 public:
  // `session`: the recording's, published; it must outlive this object.
  UserSessions(std::string trace, const logformat::SessionControl& session)
      : trace_(std::move(trace)), session_(session) {}
  // Closes the folders to their users.
  ~UserSessions();
  UserSessions(const UserSessions&) = delete;
  UserSessions& operator=(const UserSessions&) = delete;

  // The directory that process `pid` joins: the trace's for root, for our own
  // user and where we are not root, else its user's, which is made if it is the
  // first of that user. Returns: NOT_FOUND no such process; FAILED_PRECONDITION
  // a flight recording, which keeps no other user's records.
  absl::StatusOr<std::string> DirectoryFor(std::int32_t pid);

  // Stops the sessions and wakes their processes.
  void Stop();
  // Living processes of these users that may still write.
  std::vector<std::int32_t> AttachedProcesses() const;
  // As SessionFile::JoinedProcesses(); their users can change it.
  std::vector<std::uint64_t> JoinedProcesses() const;

 private:
  struct Unmapper {
    void operator()(void* page) const;
  };
  struct UserSession {
    std::string path;
    base::ScopedFd session;                      // `.session`
    base::ScopedFd lock;                         // of `.incomplete`
    std::unique_ptr<void, Unmapper> wake_pages;  // for futex(2), never read
  };
  absl::StatusOr<UserSession> Create(std::uint32_t user) const;

  std::string trace_;
  const logformat::SessionControl& session_;
  std::map<std::uint32_t, UserSession> users_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_DIRECTORY_USER_SESSIONS_H_
