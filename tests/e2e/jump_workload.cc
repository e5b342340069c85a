// Leaves segments by jumps; the calls are known: jump_workload MODE ROUNDS.
//   longjmp   setjmp, a segment that calls longjmp, a segment `work`
//   deep      the same out of a segment in a segment; every third round jumps
//             to a target that was saved outside the loop, in a copied buffer
//   signal    siglongjmp out of a signal handler that interrupts a segment
//   switch    two contexts, each in a segment of its own, take turns
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "countrace/hooks.h"

namespace {

jmp_buf g_target;
sigjmp_buf g_signal_target;
volatile std::uint64_t g_sum = 0;

__attribute__((noinline)) void Work() {
  COUNTRACE_SEGMENT("jump", "work");
  for (int i = 0; i < 20; ++i) g_sum = g_sum + 1;
}

__attribute__((noinline)) void Leave() {
  COUNTRACE_ENTER("jump", "left");
  longjmp(g_target, 1);
}

__attribute__((noinline)) void LeaveTwo() {
  COUNTRACE_ENTER("jump", "outer");
  Leave();
}

void LongJumps(std::uint64_t rounds) {
  COUNTRACE_SEGMENT("jump", "loop");
  volatile std::uint64_t done = 0;
  while (done < rounds) {
    if (setjmp(g_target) == 0) Leave();
    Work();
    done = done + 1;
  }
}

void DeepJumps(std::uint64_t rounds) {
  COUNTRACE_SEGMENT("jump", "loop");
  volatile std::uint64_t done = 0;
  static jmp_buf outside;
  // Each return comes from a jump of a round.
  if (setjmp(g_target) != 0) Work();
  memcpy(&outside, &g_target, sizeof(outside));
  while (done < rounds) {
    done = done + 1;
    COUNTRACE_ENTER("jump", "round");
    if (done % 3 == 0) {
      memcpy(&g_target, &outside, sizeof(outside));
      LeaveTwo();
    }
    if (setjmp(g_target) == 0) LeaveTwo();
    Work();
    COUNTRACE_EXIT("jump", "round");
  }
}

void OnSignal(int) { siglongjmp(g_signal_target, 1); }

__attribute__((noinline)) void Raise() {
  COUNTRACE_ENTER("jump", "left");
  raise(SIGUSR1);
}

void SignalJumps(std::uint64_t rounds) {
  struct sigaction action = {};
  action.sa_handler = &OnSignal;
  sigaction(SIGUSR1, &action, nullptr);
  COUNTRACE_SEGMENT("jump", "loop");
  volatile std::uint64_t done = 0;
  while (done < rounds) {
    if (sigsetjmp(g_signal_target, 1) == 0) Raise();
    Work();
    done = done + 1;
  }
}

ucontext_t g_main, g_other;
std::uint64_t g_rounds;

void Other() {
  for (std::uint64_t i = 0; i < g_rounds; ++i) {
    COUNTRACE_SEGMENT("jump", "other");
    swapcontext(&g_other, &g_main);
  }
  setcontext(&g_main);
}

void Switches(std::uint64_t rounds) {
  g_rounds = rounds;
  constexpr std::size_t kStack = 64 << 10;
  void* const stack = malloc(kStack);
  getcontext(&g_other);
  g_other.uc_stack.ss_sp = stack;
  g_other.uc_stack.ss_size = kStack;
  makecontext(&g_other, &Other, 0);
  for (std::uint64_t i = 0; i < rounds; ++i) {
    COUNTRACE_SEGMENT("jump", "loop");
    swapcontext(&g_main, &g_other);
  }
  swapcontext(&g_main, &g_other);
  free(stack);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string mode = argv[1];
  const std::uint64_t rounds = std::strtoull(argv[2], nullptr, 10);
  if (mode == "longjmp") {
    LongJumps(rounds);
  } else if (mode == "deep") {
    DeepJumps(rounds);
  } else if (mode == "signal") {
    SignalJumps(rounds);
  } else if (mode == "switch") {
    Switches(rounds);
  } else {
    return 2;
  }
  std::printf("sum %llu\n", static_cast<unsigned long long>(g_sum));
  return 0;
}
