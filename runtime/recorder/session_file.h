// `.session`: the recorder's side of the memory it shares with every
// instrumented process (logformat/session_layout.h).
//
// Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_SESSION_FILE_H_
#define COUNTRACE_RUNTIME_RECORDER_SESSION_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/session_layout.h"

namespace countrace::runtime {

class SessionFile {
 public:
  // Creates the file in `directory`, zero, with its disk blocks. Processes do
  // not join before Publish(). Returns: RESOURCE_EXHAUSTED (disk full).
  static absl::StatusOr<SessionFile> Create(const std::string& directory);
  ~SessionFile();
  SessionFile(SessionFile&& other) noexcept;
  SessionFile& operator=(SessionFile&&) = delete;
  SessionFile(const SessionFile&) = delete;
  SessionFile& operator=(const SessionFile&) = delete;

  logformat::SessionControl& control() { return *control_; }

  // Fills what describes this machine and the trace: uuid, host, kernel, CPUs.
  void Describe();
  // Stores the magic: processes that start from now on join.
  void Publish();
  // Tells all processes to stop and wakes their helper threads.
  void Stop();
  // Processes that live and still may write to the session.
  std::vector<std::int32_t> AttachedProcesses() const;

 private:
  explicit SessionFile(logformat::SessionControl* control)
      : control_(control) {}
  logformat::SessionControl* control_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SESSION_FILE_H_
