// Programs whose instructions are known: two for each iteration of a loop, on
// every architecture.
//
//   counted_loop segments CALLS ITERATIONS   segment loop:body around each call
//   counted_loop run ITERATIONS              no hooks
//   counted_loop shares ROUNDS ITERATIONS
//       each round: three times ITERATIONS in HotLoop, ITERATIONS in ColdLoop
//   counted_loop calls ROUNDS CALLS
//       each round: CALLS of getuid(2) in a segment loop:body; before the
//       second half of the rounds getgid(2), once
//   counted_loop interrupted CALLS ITERATIONS
//       as segments, while a timer's signal handler has hooks, too
//   counted_loop counts CALLS ITERATIONS
//       reads its own counts around each call; prints them, then the least
//       instructions of a read, and of a read(2)
//   counted_loop steal COUNTERS AFTER_MS COMMAND...
//       takes so many counters of CPU 0 away from COMMAND, for 500 ms
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "countrace/counts.h"
#include "countrace/hooks.h"

namespace {

// Two instructions for each iteration.
void Loop(std::uint64_t iterations) {
#if defined(__x86_64__)
  __asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(iterations) : : "cc");
#elif defined(__aarch64__)
  __asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(iterations) : : "cc");
#elif defined(__powerpc64__)
  __asm__ volatile("1: addic. %0, %0, -1\n\tbne 1b"
                   : "+b"(iterations)
                   :
                   : "cc", "xer");
#else
#error "a loop of two instructions for this architecture"
#endif
}

// Functions of their own, of which samples have three parts and one. They
// differ, as compilers make equal ones one.
[[gnu::noinline]] void HotLoop(std::uint64_t iterations) { Loop(iterations); }
[[gnu::noinline]] void ColdLoop(std::uint64_t iterations) {
  Loop(iterations - 1);
  Loop(1);
}

void Shares(std::uint64_t rounds, std::uint64_t iterations) {
  for (std::uint64_t i = 0; i < rounds; ++i) {
    HotLoop(3 * iterations);
    ColdLoop(iterations);
  }
}

void OnTimer(int) {
  COUNTRACE_SEGMENT("loop", "handler");
  Loop(10);
}

void StartTimer() {
  struct sigaction action {};
  action.sa_handler = OnTimer;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  itimerval every{};
  every.it_interval.tv_usec = 100;
  every.it_value.tv_usec = 100;
  setitimer(ITIMER_REAL, &every, nullptr);
}

void Segments(std::uint64_t calls, std::uint64_t iterations) {
  for (std::uint64_t i = 0; i < calls; ++i) {
    COUNTRACE_SEGMENT("loop", "body");
    Loop(iterations);
  }
}

void SystemCalls(std::uint64_t rounds, std::uint64_t calls) {
  for (std::uint64_t round = 0; round < rounds; ++round) {
    if (round == rounds / 2) syscall(SYS_getgid);
    COUNTRACE_SEGMENT("loop", "body");
    for (std::uint64_t i = 0; i < calls; ++i) syscall(SYS_getuid);
  }
}

// "COUNT QUALITY" for each call, then "read INSTRUCTIONS INSTRUCTIONS".
int OwnCounts(std::uint64_t calls, std::uint64_t iterations) {
  countrace_counts set, both;
  int error = countrace_counts_open(&set, "instructions:u,cycles:u");
  if (error == 0) error = countrace_counts_open(&both, "instructions");
  if (error != 0) {
    std::fprintf(stderr, "counted_loop: %s\n", countrace_counts_text(error));
    return 1;
  }
  countrace_reading begin{}, end{};
  for (std::uint64_t i = 0; i < calls; ++i) {
    countrace_counts_read(&set, &begin);
    Loop(iterations);
    countrace_counts_read(&set, &end);
    countrace_counts_between(&begin, &end, &end);
    const countrace_count count = countrace_counts_value(&end, 0);
    std::printf("%llu %d\n", static_cast<unsigned long long>(count.value),
                count.quality);
  }
  std::uint64_t least = UINT64_MAX, of_kernel = UINT64_MAX;
  for (int i = 0; i < 1000; ++i) {
    countrace_counts_read(&both, &begin);
    countrace_counts_read(&both, &end);
    least = std::min(least, end.counted[0] - begin.counted[0]);
    std::uint64_t first[4] = {}, second[4] = {};
    if (read(both.fds[0], first, sizeof(first)) < 0 ||
        read(both.fds[0], second, sizeof(second)) < 0) {
      return 1;
    }
    of_kernel = std::min(of_kernel, second[3] - first[3]);
  }
  std::printf("read %llu %llu\n", static_cast<unsigned long long>(least),
              static_cast<unsigned long long>(of_kernel));
  countrace_counts_close(&set);
  countrace_counts_close(&both);
  return 0;
}

// The kernel schedules pinned groups in the order of their creation, and again
// whenever one is enabled: a group created before COMMAND's comes first.
int Steal(unsigned counters, unsigned after_ms, char** command) {
  int leader = -1;
  for (unsigned i = 0; i < counters; ++i) {
    perf_event_attr attr{};
    attr.size = sizeof(attr);
    attr.type = PERF_TYPE_HARDWARE;
    attr.config = PERF_COUNT_HW_INSTRUCTIONS;
    attr.pinned = leader < 0;
    attr.disabled = leader < 0;
    const auto fd =
        static_cast<int>(syscall(SYS_perf_event_open, &attr, -1, 0, leader, 0));
    if (fd < 0) {
      std::perror("counted_loop: a counter to steal");
      return 1;
    }
    if (leader < 0) leader = fd;
  }
  const pid_t child = fork();
  if (child == 0) {
    execvp(command[0], command);
    std::perror(command[0]);
    _exit(127);
  }
  usleep(after_ms * 1000);
  ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
  usleep(500'000);
  std::uint64_t count = 0;
  if (read(leader, &count, sizeof(count)) != sizeof(count) || count == 0) {
    std::fprintf(stderr, "counted_loop: could not steal the counters\n");
  }
  ioctl(leader, PERF_EVENT_IOC_DISABLE, 0);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const auto number = [&](int i) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : 0;
  };
  if (mode == "run" && number(2) > 0) {
    Loop(number(2));
  } else if (mode == "segments" && number(3) > 0) {
    Segments(number(2), number(3));
  } else if (mode == "shares" && number(3) > 0) {
    Shares(number(2), number(3));
  } else if (mode == "calls" && number(3) > 0) {
    SystemCalls(number(2), number(3));
  } else if (mode == "interrupted" && number(3) > 0) {
    StartTimer();
    Segments(number(2), number(3));
  } else if (mode == "counts" && number(3) > 0) {
    return OwnCounts(number(2), number(3));
  } else if (mode == "steal" && number(2) > 0 && argc > 4) {
    return Steal(static_cast<unsigned>(number(2)),
                 static_cast<unsigned>(number(3)), argv + 4);
  } else {
    std::fprintf(
        stderr,
        "usage: counted_loop segments|interrupted|counts CALLS ITERATIONS\n"
        "       counted_loop run ITERATIONS\n"
        "       counted_loop shares ROUNDS ITERATIONS\n"
        "       counted_loop calls ROUNDS CALLS\n"
        "       counted_loop steal COUNTERS AFTER_MS COMMAND...\n");
    return 2;
  }
  return 0;
}
