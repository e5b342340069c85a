// The same id several times, each time for another process or thread with known
// work.
//
//   pid_reuse processes ROUNDS  processes of one pid, one after the other, each
//                               on a CPU for longer than the one before
//   pid_reuse threads ROUNDS    the id alternately a process's and a thread's
//   pid_reuse quick ROUNDS      processes of one pid that end at once, on
//                               another CPU than their successor's parent
//
// It prints "reused PID NAME CPU_US CALLS" for each process: the kernel's
// figure for its CPU time (0: not known), and its calls of getppid and of the
// segment reuse:round. Exit status 77: the kernel does not let us choose ids
// (standard error has the reason).
#include <linux/sched.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "countrace/hooks.h"

namespace {

constexpr int kCannot = 77;
constexpr long kCallsOfRound = 20;
constexpr long kMillisecondsOfRound = 15;

[[noreturn]] void Cannot(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, std::strerror(errno));
  std::exit(kCannot);
}

long ThreadCpuNs() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

void Work(const std::string& name, long calls, long milliseconds) {
  prctl(PR_SET_NAME, name.c_str());
  for (long i = 0; i < calls; ++i) {
    COUNTRACE_SEGMENT("reuse", "round");
    syscall(SYS_getppid);
  }
  while (ThreadCpuNs() < milliseconds * 1'000'000) {
  }
}

// Does nothing if there is no such CPU.
void MoveTo(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof(set), &set);
}

// A pid that is not in use.
pid_t FreePid() {
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  if (pid < 0 || waitpid(pid, nullptr, 0) != pid) Cannot("fork");
  return pid;
}

// Makes a child with this pid: like fork(), but with a chosen pid.
void RunProcess(pid_t pid, const std::string& name, long calls,
                long milliseconds) {
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  arguments.set_tid = reinterpret_cast<std::uintptr_t>(&pid);
  arguments.set_tid_size = 1;
  long child = -1;
  // EEXIST: the previous process was reaped, but has not yet disappeared.
  for (int i = 0; i < 1000; ++i) {
    child = syscall(SYS_clone3, &arguments, sizeof(arguments));
    if (child >= 0 || errno != EEXIST) break;
  }
  if (child < 0) Cannot("clone3 with set_tid");
  if (child == 0) {
    if (milliseconds == 0) MoveTo(1);
    Work(name, calls, milliseconds);
    _exit(0);
  }
  int status = 0;
  rusage usage{};
  if (wait4(pid, &status, 0, &usage) != pid || status != 0) std::exit(4);
  const timeval user = usage.ru_utime, kernel = usage.ru_stime;
  std::printf(
      "reused %d %s %ld %ld\n", pid, name.c_str(),
      (user.tv_sec + kernel.tv_sec) * 1'000'000 + user.tv_usec + kernel.tv_usec,
      calls);
  std::fflush(stdout);
}

// Makes a thread with this id: the kernel assigns the one after its last.
// Another process may fork in between, so it tries several times.
void RunThread(pid_t tid, const std::string& name, long calls,
               long milliseconds) {
  for (int i = 0; i < 2000; ++i) {
    std::ofstream last("/proc/sys/kernel/ns_last_pid");
    if (!(last << tid - 1 << std::flush)) Cannot("ns_last_pid");
    long cpu_ns = -1;
    std::thread([&] {
      if (gettid() != tid) return;
      Work(name, calls, milliseconds);
      cpu_ns = ThreadCpuNs();
    }).join();
    if (cpu_ns < 0) continue;
    std::printf("reused %d %s %ld %ld\n", tid, name.c_str(), cpu_ns / 1000,
                calls);
    std::fflush(stdout);
    return;
  }
  errno = EEXIST;
  Cannot("ns_last_pid: others were faster");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string mode = argv[1];
  const long rounds = std::atol(argv[2]);
  const pid_t pid = FreePid();
  if (mode == "quick") MoveTo(0);
  for (long i = 1; i <= rounds; ++i) {
    const std::string number = std::to_string(i);
    const long calls = mode == "quick" ? 1 : kCallsOfRound * i;
    const long milliseconds = mode == "quick" ? 0 : kMillisecondsOfRound * i;
    if (mode == "threads" && i % 2 == 0) {
      RunThread(pid, "thread-" + number, calls, milliseconds);
    } else {
      RunProcess(pid, "process-" + number, calls, milliseconds);
    }
  }
}
