// Errors that the runtime stores as the reason of `no_resource` where no system
// call failed. Plain data only: compiled into the runtime library.
#ifndef COUNTRACE_LOGFORMAT_DISCARD_ERRORS_H_
#define COUNTRACE_LOGFORMAT_DISCARD_ERRORS_H_

#include <cerrno>

namespace countrace::logformat {

// The thread is under a seccomp filter, and no helper makes its system calls.
inline constexpr int kNoCallsAllowed = ENOSYS;
// The task has the thread-local storage of the thread that cloned it.
inline constexpr int kSharesThreadStorage = ESRCH;
// The process cannot reach its trace any more, and its spare streams are taken.
inline constexpr int kNoStreamLeft = ENOSR;
// Another process held the lock on `.hooks` when the program started.
inline constexpr int kRegistryIsLocked = EWOULDBLOCK;
// The recording refused the hook: its name, its number, its layout.
inline constexpr int kHookRefused = EBADMSG;

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_DISCARD_ERRORS_H_
