// Forks, execs and system calls in known numbers. Static, so that an exec runs
// no dynamic linker.
//
//   process_storm storm WORKERS ROUNDS CALLS  each worker forks ROUNDS times a
//                                             process that execs `leaf CALLS`
//   process_storm forks WORKERS ROUNDS CALLS  the same without exec
//   process_storm execs CHAIN CALLS           one process that execs itself
//   process_storm calls WORKERS CALLS         workers that only call getppid
//   process_storm leaf CALLS                  calls getppid
//
// It prints the total number of forked processes, of successful execs, and of
// calls of getppid.
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

// An exec of /proc/self/exe itself would name the process "exe".
const char* Self() {
  static char path[4096];
  const ssize_t bytes = readlink("/proc/self/exe", path, sizeof(path) - 1);
  return bytes > 0 ? path : "process_storm";
}

void CallGetppid(long calls) {
  for (long i = 0; i < calls; ++i) syscall(SYS_getppid);
}

// Runs `work` in a forked process. Returns its pid, or ends the program.
template <typename Work>
pid_t Fork(Work work) {
  const pid_t pid = fork();
  if (pid < 0) {
    std::perror("process_storm: fork");
    std::exit(3);
  }
  if (pid == 0) _exit(work());
  return pid;
}

bool Succeeded(pid_t pid) {
  int status = 0;
  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

template <typename Work>
int RunWorkers(long workers, Work work) {
  pid_t pids[256];
  if (workers < 1 || workers > 256) return 2;
  for (long i = 0; i < workers; ++i) pids[i] = Fork(work);
  bool all = true;
  for (long i = 0; i < workers; ++i) all &= Succeeded(pids[i]);
  return all ? 0 : 4;
}

int RunStorm(bool exec, long workers, long rounds, long calls) {
  const std::string text = std::to_string(calls);
  const auto leaf = [exec, calls, &text] {
    if (!exec) {
      CallGetppid(calls);
      return 0;
    }
    execl(Self(), "process_storm", "leaf", text.c_str(), nullptr);
    return 127;
  };
  const int status = RunWorkers(workers, [rounds, &leaf] {
    for (long i = 0; i < rounds; ++i) {
      if (!Succeeded(Fork(leaf))) return 4;
    }
    return 0;
  });
  const long leaves = workers * rounds;
  std::printf("forks %ld execs %ld calls %ld\n", workers + leaves,
              exec ? leaves : 0, leaves * calls);
  return status;
}

// `left` more execs; the last one prints the original number, `chain`.
int RunExecs(long left, long calls, long chain) {
  CallGetppid(calls);
  if (left == 0) {
    std::printf("forks 0 execs %ld calls %ld\n", chain, (chain + 1) * calls);
    return 0;
  }
  execl(Self(), "process_storm", "execs", std::to_string(left - 1).c_str(),
        std::to_string(calls).c_str(), std::to_string(chain).c_str(), nullptr);
  return 127;
}

int RunCalls(long workers, long calls) {
  const int status = RunWorkers(workers, [calls] {
    CallGetppid(calls);
    return 0;
  });
  std::printf("forks %ld execs 0 calls %ld\n", workers, workers * calls);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [argc, argv](int at) {
    return at < argc ? std::atol(argv[at]) : -1;
  };
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "leaf") {
    CallGetppid(number(2));
    return 0;
  }
  if (mode == "storm" || mode == "forks") {
    return RunStorm(mode == "storm", number(2), number(3), number(4));
  }
  if (mode == "execs") {
    return RunExecs(number(2), number(3), argc > 4 ? number(4) : number(2));
  }
  if (mode == "calls") return RunCalls(number(2), number(3));
  return 2;
}
