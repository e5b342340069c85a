#include "runtime/inprocess/ring/wake_words.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/posix/kernel_clock.h"
#include "base/posix/own_call.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449  // the same number on every architecture
#endif

namespace countrace::runtime {

namespace {

constexpr std::uint64_t kForever = ~std::uint64_t{0};
constexpr std::uint64_t kSecond = 1'000'000'000;
// Where the kernel can wait for one word only, the others are polled at this
// interval.
constexpr std::uint64_t kPeriodNs = 20'000'000;
constexpr std::uint32_t kFutex32Bits = 2;  // FUTEX_32 of linux/futex.h

struct Waiter {  // futex_waitv of linux/futex.h (Linux 5.16)
  std::uint64_t value;
  std::uint64_t address;
  std::uint32_t flags;
  std::uint32_t reserved;
};

timespec ToTimespec(std::uint64_t ns) noexcept {
  return {static_cast<time_t>(ns / kSecond), static_cast<long>(ns % kSecond)};
}

bool WaitForOne(std::atomic<std::uint32_t>* word, std::uint32_t seen,
                std::uint64_t timeout_ns) noexcept {
  const timespec timeout = ToTimespec(timeout_ns);
  return base::OwnCall(SYS_futex, word, FUTEX_WAIT, seen,
                       timeout_ns == kForever ? nullptr : &timeout, nullptr,
                       0) != 0 &&
         errno == ETIMEDOUT;
}

// Valgrind (3.19) warns on the program's stderr of calls that it does not know.
// Its client request RUNNING_ON_VALGRIND is instructions that do nothing
// elsewhere.
bool IsUnderValgrind() noexcept {
  std::uint64_t result = 0;
#ifdef __x86_64__
  const std::uint64_t request[6] = {0x1001, 0, 0, 0, 0, 0};
  __asm__ volatile(
      "rolq $3, %%rdi\n\trolq $13, %%rdi\n\t"
      "rolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
      "xchgq %%rbx, %%rbx"
      : "=d"(result)
      : "a"(&request[0]), "0"(result)
      : "cc", "memory");
#endif
  return result != 0;
}

}  // namespace

void WakeWords::Add(std::atomic<std::uint32_t>* word) noexcept {
  if (word == nullptr || count_ == kMaxWords) return;
  word_[count_] = word;
  seen_[count_++] = word->load(std::memory_order_seq_cst);
}

bool WakeWords::AnyChanged() const noexcept {
  for (std::uint32_t i = 0; i < count_; ++i) {
    if (word_[i]->load(std::memory_order_seq_cst) != seen_[i]) return true;
  }
  return false;
}

bool WakeWords::WaitForAny(std::uint64_t timeout_ns,
                           int* error) const noexcept {
  if (IsUnderValgrind()) {
    *error = ENOSYS;
    return false;
  }
  Waiter waiters[kMaxWords];
  for (std::uint32_t i = 0; i < count_; ++i) {
    waiters[i] = {seen_[i], reinterpret_cast<std::uint64_t>(word_[i]),
                  kFutex32Bits, 0};
  }
  const timespec until =
      ToTimespec(base::KernelClockNs(CLOCK_MONOTONIC) + timeout_ns);
  const long woken =
      base::OwnCall(SYS_futex_waitv, waiters, count_, 0,
                    timeout_ns == kForever ? nullptr : &until, CLOCK_MONOTONIC);
  *error = woken < 0 ? errno : 0;
  return *error == ETIMEDOUT;
}

bool WakeWords::Wait(std::uint64_t timeout_ns) const noexcept {
  if (count_ == 1) return WaitForOne(word_[0], seen_[0], timeout_ns);
  int error = 0;
  const bool timed_out = WaitForAny(timeout_ns, &error);
  const bool refused = error == ENOSYS || error == EPERM || error == EINVAL;
  if (!refused) return timed_out;
  // A change of the first word ends the sleep; the others are polled.
  for (std::uint64_t waited = 0; waited < timeout_ns; waited += kPeriodNs) {
    if (!WaitForOne(word_[0], seen_[0], kPeriodNs) || AnyChanged())
      return false;
  }
  return true;
}

}  // namespace countrace::runtime
