// Makes system calls of many kinds at a steady rate for a CPU time, each kind
// as often as every other, and prints how often. Its threads' other work makes
// none of these. CPU time: on a busy machine it runs longer, and is counted in
// as many rotations.
//
//   many_calls MS [THREADS]
//
//   calls 123456            of each kind, in all threads together
//   getppid getuid ...      their names
//   rates 0.087 0.112       of each kind in a microsecond: in the slowest 20 ms
//                           of a thread by the wall clock, and in the fastest
//                           by its CPU time. No machine is equally fast all the
//                           time, least a guest whose host takes CPU time.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

namespace {

struct Call {
  const char* name;
  long number;
};

// Those that need no argument, or fail at once without one, and that neither
// the C library nor the loader makes.
constexpr Call kCalls[] = {
    {"getppid", SYS_getppid},
    {"getuid", SYS_getuid},
    {"geteuid", SYS_geteuid},
    {"getgid", SYS_getgid},
    {"getegid", SYS_getegid},
    {"getpgid", SYS_getpgid},
    {"getsid", SYS_getsid},
    {"times", SYS_times},
    {"umask", SYS_umask},
    {"getpriority", SYS_getpriority},
    {"sched_getscheduler", SYS_sched_getscheduler},
    {"sched_get_priority_max", SYS_sched_get_priority_max},
    {"sched_get_priority_min", SYS_sched_get_priority_min},
    {"personality", SYS_personality},
    {"fchdir", SYS_fchdir},
    {"ftruncate", SYS_ftruncate},
    {"fsync", SYS_fsync},
    {"fdatasync", SYS_fdatasync},
    {"getitimer", SYS_getitimer},
    {"getresuid", SYS_getresuid},
    {"getresgid", SYS_getresgid},
    {"fchmod", SYS_fchmod},
    {"flock", SYS_flock},
    {"dup3", SYS_dup3},
    {"listen", SYS_listen},
    {"shutdown", SYS_shutdown},
    {"timer_delete", SYS_timer_delete},
    {"timer_getoverrun", SYS_timer_getoverrun},
    {"mq_unlink", SYS_mq_unlink},
    {"removexattr", SYS_removexattr},
    {"ioprio_get", SYS_ioprio_get},
    {"readahead", SYS_readahead},
};

std::uint64_t NowNs(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

constexpr std::uint64_t kWindowNs = 20'000'000;

struct Made {
  std::uint64_t calls = 0;
  double slowest_us = 1e9;  // calls in a microsecond
  double fastest_us = 0;

  void Add(const Made& other) {
    calls += other.calls;
    slowest_us = std::min(slowest_us, other.slowest_us);
    fastest_us = std::max(fastest_us, other.fastest_us);
  }
};

// For `ns` of this thread's CPU time. -1 is no descriptor, no process and no
// address: nothing happens.
Made CallFor(std::uint64_t ns) {
  Made made;
  std::uint64_t now_ns = NowNs(CLOCK_THREAD_CPUTIME_ID);
  const std::uint64_t end_ns = now_ns + ns;
  while (now_ns < end_ns) {
    const std::uint64_t begin_ns = now_ns;
    const std::uint64_t begin_wall_ns = NowNs(CLOCK_MONOTONIC);
    const std::uint64_t window_end_ns = std::min(now_ns + kWindowNs, end_ns);
    std::uint64_t calls = 0;
    while (now_ns < window_end_ns) {
      for (const Call& call : kCalls) syscall(call.number, -1L, -1L, -1L);
      ++calls;
      now_ns = NowNs(CLOCK_THREAD_CPUTIME_ID);
    }
    const auto in_us = [calls](std::uint64_t took_ns) {
      return static_cast<double>(calls) * 1e3 / static_cast<double>(took_ns);
    };
    Made window{.calls = calls};
    if (now_ns - begin_ns >= kWindowNs) {  // the last one is a rest
      window.slowest_us = in_us(NowNs(CLOCK_MONOTONIC) - begin_wall_ns);
      window.fastest_us = in_us(now_ns - begin_ns);
    }
    made.Add(window);
  }
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t ms = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100;
  const int threads = argc > 2 ? std::atoi(argv[2]) : 1;
  std::mutex mutex;
  Made made;
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, ms] {
      const Made of_thread = CallFor(ms * 1'000'000);
      const std::lock_guard lock(mutex);
      made.Add(of_thread);
    });
  }
  for (std::thread& thread : running) thread.join();
  std::printf("calls %llu\n", static_cast<unsigned long long>(made.calls));
  for (const Call& call : kCalls) std::printf("%s ", call.name);
  std::printf("\nrates %.6f %.6f\n", made.slowest_us, made.fastest_us);
  return 0;
}
