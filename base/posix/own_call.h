// System calls of the code that runs inside recorded programs, without the C
// library: programs and preloaded libraries put functions of their own in the
// place of its functions, syscall(2) among them.
//
// Each carries a mark, by which the kernel recorder leaves it out of the
// program's system calls: a register, and behind the instruction one without
// effect, because a signal handler begins with the same registers.
//
// Async-signal-safe, no cancellation point. Thread: any.
#ifndef COUNTRACE_BASE_POSIX_OWN_CALL_H_
#define COUNTRACE_BASE_POSIX_OWN_CALL_H_

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "base/posix/own_call_mark.h"

namespace countrace::base {

// As syscall(2), which it is on other architectures. Not inline: the mark takes
// a register that callers would have to save.
[[gnu::noinline]] inline long RawOwnCall(long number, long a, long b, long c,
                                         long d, long e, long f) noexcept {
#if defined(__x86_64__)
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  register long mark __asm__("r12") = COUNTRACE_OWN_CALL_MARK;
  __asm__ volatile("syscall\n\tnopl %c[nop](%%rax)"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
                     "r"(r9), "r"(mark), [nop] "i"(COUNTRACE_OWN_CALL_NOP)
                   : "rcx", "r11", "memory");
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long result __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  register long mark __asm__("x19") = COUNTRACE_OWN_CALL_MARK;
  __asm__ volatile("svc #0\n\tmovz xzr, %[nop]"
                   : "+r"(result)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5),
                     "r"(mark), [nop] "i"(COUNTRACE_OWN_CALL_MOVZ)
                   : "memory");
#else
  return syscall(number, a, b, c, d, e, f);
#endif
#if defined(__x86_64__) || defined(__aarch64__)
  if (static_cast<unsigned long>(result) < -4095ul) return result;
  errno = static_cast<int>(-result);
  return -1;
#endif
}

template <typename Value>
long CallWord(Value value) noexcept {
  return static_cast<long>(value);
}
template <typename Value>
long CallWord(Value* value) noexcept {
  return reinterpret_cast<long>(value);
}
inline long CallWord(decltype(nullptr)) noexcept { return 0; }

// Returns -1 and stores errno, or the call's result.
template <typename... Arguments>
long OwnCall(long number, Arguments... arguments) noexcept {
  static_assert(sizeof...(arguments) <= 6);
  const long words[6 + 1] = {CallWord(arguments)...};
  return RawOwnCall(number, words[0], words[1], words[2], words[3], words[4],
                    words[5]);
}

// As mmap(2) and mremap(2).
inline void* OwnMap(void* at, std::size_t bytes, int protection, int flags,
                    int fd, std::int64_t offset) noexcept {
  return reinterpret_cast<void*>(
      OwnCall(SYS_mmap, at, bytes, protection, flags, fd, offset));
}
inline void* OwnRemap(void* memory, std::size_t bytes, std::size_t now,
                      int flags, void* at = nullptr) noexcept {
  return reinterpret_cast<void*>(
      OwnCall(SYS_mremap, memory, bytes, now, flags, at));
}

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_POSIX_OWN_CALL_H_
