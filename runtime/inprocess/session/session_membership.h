// A process joins a recording and leaves it, and may join the next one.
//
//   idle --JoinSession()--> taking part --(recording ends)--> leaving
//    ^                                                            |
//    +-----------------TryLeaveSession()--------------------------+
//
// Idle: gates are closed, there is no ring, the session's memory is zero.
// Leaving: gates are closed and rings poisoned, but a thread may still be in
// the middle of a hook. Threads that may join: the one that loads the library,
// later the control thread.
#ifndef COUNTRACE_RUNTIME_INPROCESS_SESSION_SESSION_MEMBERSHIP_H_
#define COUNTRACE_RUNTIME_INPROCESS_SESSION_SESSION_MEMBERSHIP_H_

#include "runtime/control_layout.h"

namespace countrace::runtime {

// Joins the recording in directory `path`: registers every hook and opens the
// gates. *error: errno if the session cannot be opened.
ControlStatus JoinSession(const char* path, int* error) noexcept;

// Whether the mapped session was stopped, or its recorder died.
bool SessionHasEnded() noexcept;

// Takes the rings from their threads, closes their packets and reports to the
// recorder that this process has stopped writing. False: a thread is still in
// the slow path or in the middle of a hook; call again. Control thread only.
bool TryLeaveSession() noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_SESSION_SESSION_MEMBERSHIP_H_
