// Fibers on stacks of their own (makecontext, swapcontext) that compute for a
// known time in nested segments: fiber_workload MODE FIBERS ROUNDS.
//   random    switched at random, from the innermost segment and back to main
//   link      each ends by its uc_link
//   reuse     each is left in open segments, and another fiber gets its stack
//   handler   signal handlers on an alternative stack have segments, too
//   longjmp   switched by siglongjmp, after the first entry
// Prints, for each segment, its calls and its time by the clock; last, the time
// between them (switches, hooks, and what comes in between).
#include <setjmp.h>
#include <signal.h>
#include <time.h>
#include <ucontext.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "countrace/hooks.h"

namespace {

constexpr std::size_t kStackBytes = 32 << 10;

std::uint64_t Now() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

struct Known {
  std::uint64_t calls = 0, ns = 0;
};
Known g_outer, g_inner, g_main, g_handler, g_between;
std::uint64_t g_since_ns = 0;

void AddTo(Known& known) {
  const std::uint64_t now_ns = Now();
  known.ns += now_ns - g_since_ns;
  g_since_ns = now_ns;
}

// Exclusive time of a segment: what passes while no other one runs inside. One
// clock goes at a time.
class Clock {
 public:
  explicit Clock(Known& known) : known_(known) {
    ++known_.calls;
    Go();
  }
  void Stop() { AddTo(known_); }
  void Go() { AddTo(g_between); }

 private:
  Known& known_;
};

volatile std::uint64_t g_sum = 0;
__attribute__((noinline)) void Compute(int thousands) {
  for (int i = 0; i < thousands * 1000; ++i) g_sum = g_sum + 1;
}

struct Fiber {
  ucontext_t context = {};
  sigjmp_buf jump;
  std::unique_ptr<char[]> stack;
  bool begun = false, done = false;
};
std::vector<Fiber> g_fibers;
std::size_t g_current = 0;
ucontext_t g_main_context;
sigjmp_buf g_main_jump;
std::string g_mode;
int g_rounds = 0;

void ToMain() {
  Fiber& fiber = g_fibers[g_current];
  if (g_mode != "longjmp") {
    swapcontext(&fiber.context, &g_main_context);
  } else if (sigsetjmp(fiber.jump, 0) == 0) {
    siglongjmp(g_main_jump, 1);
  }
}

__attribute__((noinline)) void Inner(bool leaves) {
  COUNTRACE_SEGMENT("fiber", "inner");
  Clock clock(g_inner);
  Compute(20);
  clock.Stop();
  if (leaves) ToMain();
  clock.Go();
  Compute(20);
  clock.Stop();
}

__attribute__((noinline)) void Outer(int round) {
  COUNTRACE_SEGMENT("fiber", "outer");
  Clock clock(g_outer);
  Compute(10);
  clock.Stop();
  Inner(g_mode != "link");
  if (round % 3 == 0) ToMain();
  if (g_mode == "handler") raise(SIGUSR1);
  clock.Go();
  Compute(10);
  clock.Stop();
}

void Run() {
  for (int i = 0; i < g_rounds; ++i) Outer(i);
  g_fibers[g_current].done = true;
  if (g_mode == "longjmp") siglongjmp(g_main_jump, 1);
  // The others return: uc_link leads back to main.
}

void Make(Fiber& fiber) {
  fiber.begun = fiber.done = false;
  if (fiber.stack == nullptr) {
    fiber.stack = std::make_unique<char[]>(kStackBytes);
  }
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.get();
  fiber.context.uc_stack.ss_size = kStackBytes;
  fiber.context.uc_link = &g_main_context;
  makecontext(&fiber.context, &Run, 0);
}

void Resume(std::size_t which) {
  g_current = which;
  Fiber& fiber = g_fibers[which];
  if (g_mode != "longjmp") {
    swapcontext(&g_main_context, &fiber.context);
  } else if (sigsetjmp(g_main_jump, 0) == 0) {
    if (fiber.begun) siglongjmp(fiber.jump, 1);
    fiber.begun = true;
    setcontext(&fiber.context);
  }
}

void OnSignal(int) {
  COUNTRACE_SEGMENT("fiber", "handler");
  Clock clock(g_handler);
  Compute(40);
  clock.Stop();
}

// Resumes fibers at random, in a segment of its own, until all have ended.
void Schedule() {
  std::mt19937 random(7);
  for (;;) {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < g_fibers.size(); ++i) {
      if (!g_fibers[i].done) open.push_back(i);
    }
    if (open.empty()) return;
    COUNTRACE_SEGMENT("fiber", "main");
    Clock clock(g_main);
    Compute(10);
    clock.Stop();
    Resume(open[random() % open.size()]);
    clock.Go();
    Compute(10);
    clock.Stop();
  }
}

void Print(const char* name, const Known& known) {
  std::printf("%s %llu %llu\n", name,
              static_cast<unsigned long long>(known.calls),
              static_cast<unsigned long long>(known.ns));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  g_mode = argv[1];
  g_fibers = std::vector<Fiber>(std::strtoul(argv[2], nullptr, 10));
  g_rounds = static_cast<int>(std::strtol(argv[3], nullptr, 10));
  std::vector<char> alternative(64 << 10);
  if (g_mode == "handler") {
    const stack_t stack = {alternative.data(), 0, alternative.size()};
    sigaltstack(&stack, nullptr);
    struct sigaction action = {};
    action.sa_handler = &OnSignal;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, nullptr);
  }
  for (Fiber& fiber : g_fibers) Make(fiber);
  g_since_ns = Now();
  if (g_mode == "reuse") {
    // Left in its outer and inner segment; the next one begins on its stack.
    for (int i = 0; i < g_rounds; ++i) {
      Make(g_fibers[0]);
      COUNTRACE_SEGMENT("fiber", "main");
      Clock clock(g_main);
      Compute(10);
      clock.Stop();
      Resume(0);
      clock.Go();
      Compute(10);
      clock.Stop();
    }
  } else {
    Schedule();
  }
  AddTo(g_between);
  Print("outer", g_outer);
  Print("inner", g_inner);
  Print("main", g_main);
  Print("handler", g_handler);
  Print("between", g_between);
  return 0;
}
