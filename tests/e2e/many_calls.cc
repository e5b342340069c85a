// Makes system calls of many kinds at a steady rate for a CPU time, each kind
// as often as every other, and prints how often. Its threads' other work makes
// none of these. CPU time: on a busy machine it runs longer, and is counted in
// as many rotations.
//
//   many_calls MS [THREADS]
//
//   calls 123456            of each kind, in all threads together
//   getppid getuid ...      their names
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
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

// The CPU time of this thread.
std::uint64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// -1 is no descriptor, no process and no address: nothing happens.
std::uint64_t CallFor(std::uint64_t ns) {
  const std::uint64_t end_ns = NowNs() + ns;
  std::uint64_t calls = 0;
  while (NowNs() < end_ns) {
    for (const Call& call : kCalls) syscall(call.number, -1L, -1L, -1L);
    ++calls;
  }
  return calls;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t ms = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100;
  const int threads = argc > 2 ? std::atoi(argv[2]) : 1;
  std::atomic<std::uint64_t> calls = 0;
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&calls, ms] { calls += CallFor(ms * 1'000'000); });
  }
  for (std::thread& thread : running) thread.join();
  std::printf("calls %llu\n", static_cast<unsigned long long>(calls.load()));
  for (const Call& call : kCalls) std::printf("%s ", call.name);
  std::printf("\n");
  return 0;
}
