// SIGINT, SIGTERM and SIGHUP of the recorder, which end it, and other signals,
// which request a snapshot, in a form that poll(2) can wait for. SIGXFSZ is
// ignored: a stream at the limit of file sizes (ulimit -f) discards records.
//
// The handlers are in force while the object lives; its destructor restores the
// old ones. A child must call RestoreInChild() before exec, so that the command
// starts with the dispositions of the user's shell. Thread: one object at a
// time; any thread may receive the signals.
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
  // Sent by a process, not typed at the terminal: the command did not receive
  // it.
  bool from_process = false;
};

class StopSignals {
 public:
  // `more`: signals beside those that end the recording, and not among them.
  explicit StopSignals(const std::vector<int>& more);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Readable when Take() has a signal.
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
  std::vector<Saved> saved_;  // signals with our handlers
  // If our parent ignored SIGCHLD, the command's status would be lost.
  struct sigaction saved_child_ {};
  struct sigaction saved_file_size_ {};
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SESSION_STOP_SIGNALS_H_
