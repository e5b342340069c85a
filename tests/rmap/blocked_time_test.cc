// Blocked time with more kinds of blocking than the limit of rows.
#include <catch2/catch.hpp>

#include "logformat/packet_layout.h"
#include "rmap/dispatch/blocked_time.h"

namespace countrace::rmap {
namespace {

TEST_CASE("blocked: beyond the limit kinds are folded, no time is lost",
          "[rmap]") {
  BlockedTime blocked(/*max_rows=*/3);
  ProcessState process;
  ThreadState thread;
  thread.process = &process;
  ThreadState interrupt;
  interrupt.stack.frames.emplace_back(nullptr, 0, 0, 0, 0, 0, 0, 0, 0);
  std::uint64_t time_ns = 1000;
  const auto block_until_woken = [&](std::uint32_t hook_id) {
    blocked.Leave(thread, time_ns, logformat::kSwitchInterruptible);
    time_ns += 10;
    Waker waker;
    waker.kind = WakerKind::kInterrupt;
    interrupt.stack.frames.back().hook_id = hook_id;
    waker.in = &interrupt;
    blocked.Wake(thread, time_ns, waker);
    blocked.Enter(thread, time_ns);
  };
  for (std::uint32_t round = 0; round < 2; ++round) {
    for (std::uint32_t hook = 1; hook <= 10; ++hook) block_until_woken(hook);
  }
  CHECK(thread.blocked.total_ns == 200);
  CHECK(blocked.folded() == 14);
  CHECK(blocked.sums().size() == 4);
  std::uint64_t sum_ns = 0;
  for (const auto& [key, sum] : blocked.sums()) {
    sum_ns += sum.ns;
    if (key.kind != WakerKind::kOther) continue;
    CHECK(key.process == &process);
    CHECK(sum.times == 14);
  }
  CHECK(sum_ns == 200);
}

TEST_CASE("blocked: who left unseen was blocked only if it was woken",
          "[rmap]") {
  BlockedTime blocked;
  ProcessState process;
  ThreadState thread;
  thread.process = &process;
  blocked.Leave(thread, 100, logformat::kSwitchOther);
  blocked.Enter(thread, 150);
  CHECK(thread.blocked.total_ns == 0);
  blocked.Leave(thread, 200, logformat::kSwitchOther);
  blocked.Wake(thread, 260, {});
  CHECK(thread.blocked.total_ns == 60);
  blocked.Leave(thread, 300, logformat::kSwitchDead);
  blocked.Finish(thread, 400);
  CHECK(thread.blocked.total_ns == 60);
}

TEST_CASE("blocked: a stack belongs to the time off CPU that it is of",
          "[rmap]") {
  BlockedTime blocked(BlockedTime::kMaxRows, /*by_thread=*/false, nullptr,
                      /*with_stacks=*/true);
  ProcessState process;
  ThreadState thread;
  thread.process = &process;
  const auto ns_at = [&blocked](std::uint32_t stack, WakerKind kind) {
    std::uint64_t ns = 0;
    for (const auto& [key, sum] : blocked.stacks()) {
      if (key.second == stack && key.first.kind == kind) ns += sum.ns;
    }
    return ns;
  };
  Waker waker;
  waker.kind = WakerKind::kIdle;
  // Blocked until the wake-up, off CPU until the switch; then the stack comes.
  blocked.Leave(thread, 100, logformat::kSwitchInterruptible);
  blocked.Wake(thread, 130, waker);
  blocked.Enter(thread, 150);
  blocked.OnStack(thread, 7);
  CHECK(ns_at(7, WakerKind::kIdle) == 30);
  // Without a stack of its own; the next time off CPU is not blocked.
  blocked.Leave(thread, 200, logformat::kSwitchInterruptible);
  blocked.Enter(thread, 210);
  blocked.Leave(thread, 220, logformat::kSwitchRunnable);
  blocked.Enter(thread, 300);
  blocked.OnStack(thread, 8);
  CHECK(blocked.stacks().size() == 1);
  // No wake-up record; the same stack as before is another row.
  blocked.Leave(thread, 400, logformat::kSwitchInterruptible);
  blocked.Enter(thread, 450);
  blocked.OnStack(thread, 7);
  CHECK(ns_at(7, WakerKind::kNotTold) == 50);
  // The recording ends first.
  blocked.Leave(thread, 500, logformat::kSwitchInterruptible);
  blocked.OnStack(thread, 9);
  blocked.Finish(thread, 600);
  CHECK(ns_at(9, WakerKind::kStillBlocked) == 100);
  CHECK(blocked.stacks().size() == 3);
}

}  // namespace
}  // namespace countrace::rmap
