// Waits of known causes, children of a known number: pairs_waits [GATE].
//
// Sleeps, waits for a lock that a thread of it holds, and for a pipe that a
// child writes; children compute in a segment. At the end many short system
// calls at once, more than a small kernel ring holds.
#include <linux/futex.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "countrace/hooks.h"
#include "tests/e2e/pairs/own_truth.h"

namespace {

constexpr int kSleeps = 20;
constexpr int kLocks = 5;
constexpr int kChildren = 3;
constexpr int kSpawned = 2;
constexpr int kBurst = 3000;

volatile std::uint64_t g_result = 0;

void SleepNs(long ns) {
  const timespec time{0, ns};
  syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, nullptr);
}

void Sleeps(pairs::Truth* truth) {
  for (int i = 0; i < kSleeps; ++i) {
    pairs::Span outside(&truth->outside);
    COUNTRACE_SEGMENT("waits", "sleep");
    pairs::Span inside(&truth->inside);
    ++truth->calls;
    SleepNs(1'000'000);
  }
}

// The thread sleeps, then opens the lock: what wakes the waiter is its futex.
void Locks(pairs::Truth* truth) {
  static std::atomic<int> lock;
  for (int i = 0; i < kLocks; ++i) {
    lock.store(1);
    std::thread holder([] {
      SleepNs(2'000'000);
      lock.store(0);
      syscall(SYS_futex, &lock, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    });
    {
      pairs::Span outside(&truth->outside);
      COUNTRACE_SEGMENT("waits", "lock");
      pairs::Span inside(&truth->inside);
      ++truth->calls;
      while (lock.load() == 1) {
        syscall(SYS_futex, &lock, FUTEX_WAIT_PRIVATE, 1, nullptr, nullptr, 0);
      }
    }
    holder.join();
  }
}

[[noreturn]] void Child(int pipe_end, pairs::Truth* shared) {
  {
    pairs::Span outside(&shared->outside);
    COUNTRACE_SEGMENT("waits", "child");
    pairs::Span inside(&shared->inside);
    ++shared->calls;
    const std::int64_t begin = pairs::ClockNs(CLOCK_THREAD_CPUTIME_ID);
    std::uint64_t x = g_result;
    for (std::uint64_t i = 0; i < 4'000'000; ++i)
      x = x * 6364136223846793005u + i;
    g_result = x;
    shared->own_cpu_ns += pairs::ClockNs(CLOCK_THREAD_CPUTIME_ID) - begin;
  }
  SleepNs(1'000'000);
  if (write(pipe_end, "x", 1) != 1) _exit(4);
  _exit(0);
}

bool Children(pairs::Truth* shared, pairs::Truth* truth) {
  for (int i = 0; i < kChildren; ++i) {
    int ends[2];
    if (pipe(ends) != 0) return false;
    const pid_t child = fork();
    if (child == 0) Child(ends[1], shared);
    char byte = 0;
    {
      pairs::Span outside(&truth->outside);
      COUNTRACE_SEGMENT("waits", "pipe");
      pairs::Span inside(&truth->inside);
      ++truth->calls;
      if (read(ends[0], &byte, 1) != 1) return false;
    }
    close(ends[0]);
    close(ends[1]);
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) return false;
  }
  for (int i = 0; i < kSpawned; ++i) {
    pid_t child = 0;
    char program[] = "/bin/true";
    char* words[] = {program, nullptr};
    int status = 0;
    if (posix_spawn(&child, program, nullptr, nullptr, words, environ) != 0 ||
        waitpid(child, &status, 0) != child || status != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

extern "C" __attribute__((noinline)) int ProbedFunction(int x) {
  __asm__ volatile("" : "+r"(x));
  return x + 1;
}

int main(int argc, char** argv) {
  const pairs::Life life =
      pairs::Life::BeginBehind(argc > 1 ? argv[1] : nullptr);
  COUNTRACE_HOOK("waits", "begin");  // the first hook of a process takes long
  void* memory = mmap(nullptr, sizeof(pairs::Truth), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 3;
  auto* shared = new (memory) pairs::Truth;
  pairs::Truths truths;
  Sleeps(&truths["waits:sleep"]);
  Locks(&truths["waits:lock"]);
  if (!Children(shared, &truths["waits:pipe"])) return 4;
  for (int i = 0; i < 20; ++i) {
    g_result = g_result + ProbedFunction(i);
    COUNTRACE_HOOK("waits", "query__start");
    COUNTRACE_HOOK("waits", "query__done");
  }
  {
    pairs::Truth& truth = truths["waits:burst"];
    pairs::Span outside(&truth.outside);
    COUNTRACE_SEGMENT("waits", "burst");
    pairs::Span inside(&truth.inside);
    ++truth.calls;
    for (int i = 0; i < kBurst; ++i) syscall(SYS_getppid);
  }
  SleepNs(2'000'000);
  truths["waits:child"] = *shared;
  char more[512];
  std::snprintf(
      more, sizeof(more),
      ", \"children_cpu_ns\": %lld, \"threads\": [%d, %d], \"processes\": %d, "
      "\"system_calls\": {\"getppid\": %d}, \"uprobe\": 20, \"usdt\": 20, "
      "\"forks\": %d, \"sleep_ns\": %d",
      static_cast<long long>(pairs::RusageNs(RUSAGE_CHILDREN)), 1 + kLocks,
      2 + kLocks, 1 + kChildren + kSpawned, kBurst,
      kLocks + kChildren + kSpawned, kSleeps * 1'000'000);
  pairs::Print(truths, life, 0, more);
  return 0;
}
