// `.session`: the recorder's side of the memory it shares with every
// instrumented process (logformat/session_layout.h).
//
// Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_DIRECTORY_SESSION_FILE_H_
#define COUNTRACE_RUNTIME_RECORDER_DIRECTORY_SESSION_FILE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "logformat/session_layout.h"

namespace countrace::runtime {

class SessionFile {
 public:
  // Creates the file in `directory`, zero, with its disk blocks, under a
  // temporary name. Returns: RESOURCE_EXHAUSTED (disk full).
  static absl::StatusOr<SessionFile> Create(const std::string& directory);
  ~SessionFile();
  SessionFile(SessionFile&& other) noexcept;
  SessionFile& operator=(SessionFile&&) = delete;
  SessionFile(const SessionFile&) = delete;
  SessionFile& operator=(const SessionFile&) = delete;

  logformat::SessionControl& control() { return *control_; }

  // Stores the description of this machine and the trace: uuid, host, kernel,
  // CPUs.
  void Describe();
  // Gives the file the name of a coming session, in the place of an earlier
  // one: if this process is killed from now on, a reader finds what the
  // recording would have been.
  absl::Status Announce();
  // Gives an announced session its name: processes that start from now on join.
  absl::Status Publish();
  // Stops the session for all processes and wakes their helper threads.
  void Stop();
  // Living processes that may still write to the session.
  std::vector<std::int32_t> AttachedProcesses() const;
  // SlotOwner() of all that joined, at most kProcessSlots.
  std::vector<std::uint64_t> JoinedProcesses() const;

 private:
  SessionFile(logformat::SessionControl* control, std::string directory,
              std::string path)
      : control_(control),
        directory_(std::move(directory)),
        path_(std::move(path)) {}
  absl::Status Rename(const std::string& name);

  logformat::SessionControl* control_;
  std::string directory_, path_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_DIRECTORY_SESSION_FILE_H_
