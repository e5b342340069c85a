// The controller's side of the control page of a running process with hooks
// (runtime/control_layout.h).
//
// The page is found in /proc/PID/maps and must be the file that is mapped
// there, so another user cannot replace it. It is read and written by pread(2)
// and pwrite(2): a process that truncates its file cannot crash the controller.
// Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_CONTROL_PROCESS_CONTROL_H_
#define COUNTRACE_RUNTIME_RECORDER_CONTROL_PROCESS_CONTROL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/posix/scoped_fd.h"
#include "runtime/control_layout.h"

namespace countrace::runtime {

// Status payload of FAILED_PRECONDITION from Open(): the process has no hooks
// to record, which is not an error of the user.
inline constexpr char kNoRuntimePayload[] = "countrace/no-runtime";
// Of AwaitJoin(): the process takes part in another recording.
inline constexpr char kOtherRecordingPayload[] = "countrace/other-recording";

// One hook site of a running process.
struct RunningHook {
  std::string id;        // "-": none outside of a recording
  std::string name;      // provider:name
  std::string location;  // file:line
  std::string kind;      // segment, point, exit
  bool on = false;
};

class ProcessControl {
 public:
  // Returns: NOT_FOUND no such process; PERMISSION_DENIED another user's;
  // FAILED_PRECONDITION it has no runtime, or one without a control page, with
  // the reason and the remedy; UNAVAILABLE another controller, or the process
  // itself, held its lock for `wait_ns`.
  static absl::StatusOr<ProcessControl> Open(
      std::int32_t pid, std::uint64_t wait_ns = 2'000'000'000);

  std::int32_t pid() const { return pid_; }

  // Sends the request without waiting; Await*() below waits. Returns:
  // UNAVAILABLE.
  absl::Status RequestJoin(const std::string& trace);
  // Waits until `deadline_ns` (CLOCK_MONOTONIC). Returns: UNAVAILABLE no answer
  // (a stopped process); FAILED_PRECONDITION refused, with reason and remedy.
  absl::Status AwaitJoin(const std::string& trace, std::uint64_t deadline_ns);

  // All hooks, each site once, in the order of provider:name. Returns:
  // RESOURCE_EXHAUSTED a list without end; as Await.
  absl::StatusOr<std::vector<RunningHook>> List();
  // Switches the hooks whose provider:name matches. Returns: NOT_FOUND none
  // matches; RESOURCE_EXHAUSTED more globs than the process can store; as
  // Await.
  absl::Status Switch(const std::string& glob, bool on);
  // The recording it took part in at its last answer; "" = none.
  const std::string& session() const { return session_; }

 private:
  struct Mapping {
    std::uint64_t address = 0;
    std::size_t bytes = 0;
  };
  ProcessControl(std::int32_t pid, base::ScopedFd file)
      : pid_(pid), file_(std::move(file)) {}
  absl::Status MapForWaking();
  absl::Status Request(ControlCommand command, const std::string& argument,
                       std::uint32_t from_site);
  // Returns the page with the process's answer.
  absl::StatusOr<std::unique_ptr<ControlPage>> Await(std::uint64_t deadline_ns);
  absl::StatusOr<std::unique_ptr<ControlPage>> Ask(ControlCommand command,
                                                   const std::string& argument,
                                                   std::uint32_t from_site);
  std::string Name() const;

  struct Unmapper {
    void operator()(void* page) const;
  };

  std::int32_t pid_;
  base::ScopedFd file_;                        // locked
  std::unique_ptr<void, Unmapper> wake_page_;  // for futex(2) only, never read
  std::uint32_t request_ = 0;
  std::string session_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_CONTROL_PROCESS_CONTROL_H_
