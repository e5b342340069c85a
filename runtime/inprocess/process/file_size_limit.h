// RLIMIT_FSIZE (ulimit -f), of the user or set by the program itself: a write
// beyond it would send SIGXFSZ, which kills a program without a handler. The
// runtime compares first.
//
// Async-signal-safe. Thread: any.
#ifndef COUNTRACE_RUNTIME_INPROCESS_PROCESS_FILE_SIZE_LIMIT_H_
#define COUNTRACE_RUNTIME_INPROCESS_PROCESS_FILE_SIZE_LIMIT_H_

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "base/posix/own_call.h"

namespace countrace::runtime {

// True if a file of this process may have `bytes` bytes.
inline bool FileMayHave(std::uint64_t bytes) noexcept {
  struct {
    std::uint64_t current, maximum;
  } limit;  // the kernel's, 64 bits on every architecture
  if (base::OwnCall(SYS_prlimit64, 0, RLIMIT_FSIZE, nullptr, &limit) != 0) {
    return true;
  }
  return bytes <= limit.current;
}

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_PROCESS_FILE_SIZE_LIMIT_H_
