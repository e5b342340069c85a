#include "runtime/inprocess/interpose/jump_targets.h"

#include <string.h>

#include "runtime/inprocess/process/trace_clock.h"
#include "runtime/inprocess/ring/thread_ring.h"

namespace countrace::runtime {

namespace {

// The latest last; of one stack, so, the outermost first. Targets beyond the
// limit replace the oldest one. Small, because the thread-local storage of a
// library that is loaded late is scarce.
constexpr std::uint32_t kMaxTargets = 16;
__thread SavedTarget t_targets[kMaxTargets]
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
__thread std::uint32_t t_count
    __attribute__((tls_model("initial-exec"), visibility("hidden"))) = 0;

bool IsSame(const JumpTarget& a, const JumpTarget& b) noexcept {
  return a.buffer == b.buffer && a.stack_pointer == b.stack_pointer &&
         a.return_address == b.return_address;
}

#if defined(__x86_64__) && defined(__GLIBC__)
// glibc's PTR_DEMANGLE (sysdeps/unix/sysv/linux/x86_64/pointer_guard.h).
std::uint64_t Demangle(std::uint64_t word) noexcept {
  std::uint64_t guard;
  __asm__("movq %%fs:0x30, %0" : "=r"(guard));
  return (word >> 17 | word << 47) ^ guard;
}

// With another layout no target is ever found: unknown, not wrong.
JumpTarget TargetIn(const void* buffer) noexcept {
  std::uint64_t words[8];  // JB_RSP, JB_PC of glibc's jmpbuf-offsets.h
  memcpy(words, buffer, sizeof(words));
  return {buffer, Demangle(words[6]), Demangle(words[7])};
}
#else
JumpTarget TargetIn(const void*) noexcept { return {nullptr, 0, 0}; }
#endif

// A time that lies between the thread's records before and after this call. The
// raw counter may stand still for longer than a hook takes (10 ns are common),
// so it waits for the next tick; 0: none came.
std::uint64_t TimeBetweenRecords() noexcept {
  constexpr int kMaxReadings = 64;
  const std::uint64_t now_ns = ClockNow();
  for (int i = 0; i < kMaxReadings; ++i) {
    if (ClockNow() != now_ns) return now_ns;
  }
  return 0;
}

}  // namespace

void NoteJumpTarget(const JumpTarget& target, std::uint64_t stack) noexcept {
  // A thread without a ring has no open call: all its records come later.
  const std::uint64_t now_ns =
      t_state.ring->live != 0 ? TimeBetweenRecords() : 1;
  std::uint32_t count = t_count;
  // The functions that saved targets further down the stack have returned.
  while (count != 0 && t_targets[count - 1].stack == stack &&
         t_targets[count - 1].target.stack_pointer < target.stack_pointer) {
    --count;
  }
  std::uint32_t replaced = 0;
  while (replaced < count && !IsSame(t_targets[replaced].target, target)) {
    ++replaced;
  }
  if (replaced == kMaxTargets) replaced = 0;
  if (replaced < count) {
    --count;
    memmove(&t_targets[replaced], &t_targets[replaced + 1],
            (count - replaced) * sizeof(t_targets[0]));
  }
  t_targets[count] = {target, now_ns, stack};
  t_count = count + 1;
}

SavedTarget FindJumpTarget(const void* buffer) noexcept {
  // A buffer may have been copied or restored since: its content counts.
  const JumpTarget target = TargetIn(buffer);
  for (std::uint32_t i = t_count; i-- > 0;) {
    if (IsSame(t_targets[i].target, target)) return t_targets[i];
  }
  return {};
}

}  // namespace countrace::runtime
