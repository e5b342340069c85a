// Ctrl-C while a trace is read: reading ends, the verb reports the part it has
// read.
//
//   InterruptionGuard guard;      // in the verb, before it reads
//   ... ProgressBar::Callback     // makes the reader stop
//   if (guard.interrupted()) ...
//
// A second Ctrl-C ends the program as usual. If SIGINT is ignored (a shell's
// background job), it stays ignored. Thread: the main one; one guard at a time.
#ifndef COUNTRACE_CLI_PROGRAM_INTERRUPTION_H_
#define COUNTRACE_CLI_PROGRAM_INTERRUPTION_H_

#include <signal.h>

namespace countrace::cli {

class InterruptionGuard final {
 public:
  InterruptionGuard();
  ~InterruptionGuard();
  InterruptionGuard(const InterruptionGuard&) = delete;
  InterruptionGuard& operator=(const InterruptionGuard&) = delete;

  bool interrupted() const;

 private:
  struct sigaction before_ {};
};

// False without a guard.
bool IsInterrupted();

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_PROGRAM_INTERRUPTION_H_
