// Waits of known numbers and lengths, in functions of known names.
//
// usage: off_cpu_workload [hang | libc | new]
//
// The system calls are made here: libc has no frame pointers. Prints the times
// that the waits took by the program's own clock, as JSON: function to [number,
// ns]. hang: sleeps once, for three seconds. libc: waits in functions of libc,
// three times in each. new: makes processes and threads, three of each, that
// get no CPU for 20 ms, as their maker keeps its own, which is theirs; exits
// with 3 where that is not allowed.
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

namespace {

std::uint64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

struct Waits {
  int number = 0;
  std::uint64_t ns = 0;
};

// Frames stay: no call is the last one of its function.
long SystemCall(long number, const void* a, long b, long c, const void* d) {
#if defined(__x86_64__)
  long result;
  register const void* r10 __asm__("r10") = d;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                   : "rcx", "r11", "memory");
  return result;
#else
  return syscall(number, a, b, c, d);
#endif
}

}  // namespace

// With names of their own in the symbol table.
__attribute__((noinline)) void SleepFor(std::uint64_t ns) {
  const timespec time{static_cast<time_t>(ns / 1'000'000'000),
                      static_cast<long>(ns % 1'000'000'000)};
  SystemCall(SYS_nanosleep, &time, 0, 0, nullptr);
  __asm__ volatile("");
}
__attribute__((noinline)) void SleepLong(Waits* waits) {
  const std::uint64_t begin_ns = NowNs();
  SleepFor(20'000'000);
  waits->ns += NowNs() - begin_ns;
  ++waits->number;
}
__attribute__((noinline)) void SleepMiddle(Waits* waits) {
  const std::uint64_t begin_ns = NowNs();
  SleepFor(6'000'000);
  waits->ns += NowNs() - begin_ns;
  ++waits->number;
}
__attribute__((noinline)) void SleepShort(Waits* waits) {
  const std::uint64_t begin_ns = NowNs();
  SleepFor(100'000);
  waits->ns += NowNs() - begin_ns;
  ++waits->number;
}

__attribute__((noinline)) void SleepOn() {
  SleepFor(3'000'000'000);
  __asm__ volatile("");
}
// Until this thread of the program waits.
__attribute__((noinline)) void WatchThread(pid_t tid) {
  for (;;) {
    std::ifstream file("/proc/self/task/" + std::to_string(tid) + "/stat");
    std::string stat;
    std::getline(file, stat);
    if (stat.find(") S ") != std::string::npos) return;
    SleepFor(100'000);
  }
}

// A lock that one thread holds while it sleeps.
std::atomic<std::uint32_t> lock_word{0};

__attribute__((noinline)) void WaitForLock(Waits* waits) {
  while (lock_word.load(std::memory_order_acquire) == 1) {
    const std::uint64_t begin_ns = NowNs();
    SystemCall(SYS_futex, &lock_word, FUTEX_WAIT, 1, nullptr);
    const std::uint64_t ns = NowNs() - begin_ns;
    // A busy machine may start this thread late: then the wait is short.
    if (ns < 2'100'000) continue;
    waits->ns += ns;
    ++waits->number;
  }
}
__attribute__((noinline)) void Unlock() {
  lock_word.store(0, std::memory_order_release);
  SystemCall(SYS_futex, &lock_word, FUTEX_WAKE, 1, nullptr);
  __asm__ volatile("");
}

// Waits of some 5 ms below functions of libc, which have a caller each.
constexpr std::uint64_t kNapNs = 5'000'000;
std::mutex held_lock;
int pipe_ends[2];

__attribute__((noinline)) void NapInLibc() {
  const timespec time{0, kNapNs};
  nanosleep(&time, nullptr);
  __asm__ volatile("");
}
__attribute__((noinline)) void LockInLibc() {
  held_lock.lock();
  held_lock.unlock();
  __asm__ volatile("");
}
__attribute__((noinline)) void ReadInLibc() {
  char byte;
  if (read(pipe_ends[0], &byte, 1) != 1) std::printf("no byte\n");
  __asm__ volatile("");
}

int WaitInLibc() {
  if (pipe(pipe_ends) != 0) return 1;
  for (int i = 0; i < 3; ++i) {
    NapInLibc();
    held_lock.lock();
    std::atomic<pid_t> tid{0};
    std::atomic<bool> has_lock{false};
    std::thread waiter([&] {
      tid = gettid();
      LockInLibc();
      has_lock = true;
      ReadInLibc();
    });
    while (tid == 0) SleepFor(100'000);
    WatchThread(tid);
    SleepFor(kNapNs);
    held_lock.unlock();
    // A busy machine may start the thread late: its wait is of this time, too.
    while (!has_lock) SleepFor(100'000);
    WatchThread(tid);
    SleepFor(kNapNs);
    if (write(pipe_ends[1], "x", 1) != 1) return 1;
    waiter.join();
  }
  return 0;
}

// A thread that is made before waits for this CPU.
__attribute__((noinline)) void KeepCpu() {
  const std::uint64_t begin_ns = NowNs();
  while (NowNs() - begin_ns < 20'000'000) {
  }
}
__attribute__((noinline)) void MakeProcess(Waits* waits) {
  const std::uint64_t begin_ns = NowNs();
  const auto flags = reinterpret_cast<const void*>(std::uintptr_t{SIGCHLD});
  const long pid = SystemCall(SYS_clone, flags, 0, 0, nullptr);
  if (pid == 0) _exit(0);
  KeepCpu();
  waitpid(static_cast<pid_t>(pid), nullptr, 0);
  waits->ns += NowNs() - begin_ns;
  ++waits->number;
}
__attribute__((noinline)) void MakeThread(Waits* waits) {
  const std::uint64_t begin_ns = NowNs();
  std::thread made([] {});
  KeepCpu();
  made.join();
  waits->ns += NowNs() - begin_ns;
  ++waits->number;
}

// One CPU, before all usual threads; what this thread makes is usual.
bool TakeCpu() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(static_cast<unsigned>(sched_getcpu()), &cpus);
  const sched_param first{.sched_priority = 1};
  return sched_setaffinity(0, sizeof(cpus), &cpus) == 0 &&
         sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first) == 0;
}

int WaitForFirstCpu() {
  if (!TakeCpu()) return 3;
  Waits processes, threads;
  for (int i = 0; i < 3; ++i) MakeProcess(&processes);
  for (int i = 0; i < 3; ++i) MakeThread(&threads);
  std::printf(
      "{\"pid\": %d, \"MakeProcess\": [%d, %llu], \"MakeThread\": [%d, "
      "%llu]}\n",
      getpid(), processes.number, static_cast<unsigned long long>(processes.ns),
      threads.number, static_cast<unsigned long long>(threads.ns));
  return 0;
}

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "libc") == 0) return WaitInLibc();
  if (argc > 1 && std::strcmp(argv[1], "new") == 0) return WaitForFirstCpu();
  if (argc > 1 && std::strcmp(argv[1], "hang") == 0) {
    SleepOn();
    return 0;
  }
  Waits long_ones, middle_ones, short_ones, locks, held;
  for (int i = 0; i < 5; ++i) SleepLong(&long_ones);
  for (int i = 0; i < 10; ++i) SleepMiddle(&middle_ones);
  for (int i = 0; i < 200; ++i) SleepShort(&short_ones);
  for (int i = 0; i < 4; ++i) {
    lock_word.store(1, std::memory_order_release);
    std::atomic<pid_t> tid{0};
    std::thread waiter([&locks, &tid] {
      tid = gettid();
      WaitForLock(&locks);
    });
    while (tid == 0) SleepFor(100'000);
    WatchThread(tid);
    SleepLong(&held);
    Unlock();
    waiter.join();
  }
  const auto print = [](const char* name, const Waits& waits, const char* end) {
    std::printf("\"%s\": [%d, %llu]%s", name, waits.number,
                static_cast<unsigned long long>(waits.ns), end);
  };
  std::printf("{");
  print("SleepLong", {long_ones.number + held.number, long_ones.ns + held.ns},
        ", ");
  print("SleepMiddle", middle_ones, ", ");
  print("SleepShort", short_ones, ", ");
  print("WaitForLock", locks, "}\n");
  return 0;
}
