// SIGINT, SIGTERM and SIGHUP of the recorder, which end it, and others, which
// ask for a snapshot, as something poll(2) can wait for.
//
// The handlers are in force while the object lives; the old ones come back
// after it. A child must call RestoreInChild() before exec, so that the command
// starts with the dispositions that the user's shell gave us. Thread: one
// object at a time; any thread may receive the signals.
#ifndef COUNTRACE_RUNTIME_RECORDER_SESSION_STOP_SIGNALS_H_
#define COUNTRACE_RUNTIME_RECORDER_SESSION_STOP_SIGNALS_H_

#include <signal.h>

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "base/posix/scoped_fd.h"

namespace countrace::runtime {

struct StopSignal {
  int number = 0;
  // Sent by a process, not typed at the terminal: the command has not got it.
  bool from_process = false;
};

class StopSignals {
 public:
  // `more`: signals beside those that end the recording; not of them.
  explicit StopSignals(const std::vector<int>& more);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Readable when Take() has something.
  int descriptor() const { return read_end_.get(); }
  std::optional<StopSignal> Take();

  // Async-signal-safe.
  void RestoreInChild() const;

 private:
  struct Saved {
    int number;
    struct sigaction action;
  };
  base::ScopedFd read_end_, write_end_;
  std::vector<Saved> saved_;  // of those whose handlers are ours
  // SIGCHLD ignored by our parent would take the command's status from us.
  struct sigaction saved_child_ {};
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SESSION_STOP_SIGNALS_H_
