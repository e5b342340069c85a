// The cost of a record at a kernel hook for the thread that runs into it.
// Prints "NAME NS", the time of one round; run it without and with a recorder:
//
//   kernel_hook_bench syscall ROUNDS   getppid
//   kernel_hook_bench name ROUNDS      access, with a file name
//   kernel_hook_bench file ROUNDS      lseek, with a descriptor
//   kernel_hook_bench usdt ROUNDS      a static hook: a nop of 5 bytes
//   kernel_hook_bench function ROUNDS  a call of `kernel_hook_bench_function`
//   kernel_hook_bench tracepoint ROUNDS  lseek, with syscalls:sys_enter_lseek
//   kernel_hook_bench read ROUNDS      read(2) of a group of 4 counters: the
//                                      cost of a hook that reads them itself
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "countrace/hooks.h"

extern "C" __attribute__((noinline)) long kernel_hook_bench_function(long x) {
  asm volatile("" : "+r"(x));
  return x + 1;
}

namespace {

double NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 +
         static_cast<double>(now.tv_nsec);
}

int OpenCounter(std::uint64_t config, int leader) {
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = config;
  attr.read_format = PERF_FORMAT_GROUP;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attr, 0, -1, leader, 0));
}

int OpenGroup() {
  const int leader = OpenCounter(PERF_COUNT_SW_TASK_CLOCK, -1);
  for (const std::uint64_t config :
       {PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_PAGE_FAULTS,
        PERF_COUNT_SW_CONTEXT_SWITCHES}) {
    if (leader < 0 || OpenCounter(config, leader) < 0) return -1;
  }
  return leader;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const char* const what = argv[1];
  const long rounds = std::atol(argv[2]);
  std::uint64_t values[5];
  const int group = OpenGroup();
  long sum = 0;
  const double begin = NowNs();
  if (std::strcmp(what, "syscall") == 0) {
    for (long i = 0; i < rounds; ++i) sum += syscall(SYS_getppid);
  } else if (std::strcmp(what, "name") == 0) {
    for (long i = 0; i < rounds; ++i)
      sum += access("/etc/there_is_no_such_file", R_OK);
  } else if (std::strcmp(what, "file") == 0) {
    const int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
    for (long i = 0; i < rounds; ++i) sum += lseek(fd, 0, SEEK_SET);
  } else if (std::strcmp(what, "usdt") == 0) {
    for (long i = 0; i < rounds; ++i) COUNTRACE_HOOK("bench", "point", i);
  } else if (std::strcmp(what, "function") == 0) {
    for (long i = 0; i < rounds; ++i) sum = kernel_hook_bench_function(sum);
  } else if (std::strcmp(what, "tracepoint") == 0) {
    for (long i = 0; i < rounds; ++i) sum += syscall(SYS_lseek, -1, i, 0);
  } else if (std::strcmp(what, "read") == 0) {
    if (group < 0) return 3;
    for (long i = 0; i < rounds; ++i)
      sum += read(group, values, sizeof(values));
  } else {
    return 2;
  }
  std::printf("%s %.2f\n", what,
              (NowNs() - begin) / static_cast<double>(rounds));
  return sum == 1 ? 1 : 0;
}
