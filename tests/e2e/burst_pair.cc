// Two processes take turns in bursts of CPU time: each waits for the other, so
// that a burst is a dispatch of its own. When both have ended, prints for each
// the scheduler's account of it: "ran PID NS", from /proc/PID/schedstat.
//
// usage: burst_pair BURSTS BURST_NS
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace {

std::uint64_t CpuTimeNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

void Play(int from, int to, int bursts, std::uint64_t burst_ns) {
  char byte = 0;
  for (int i = 0; i < bursts; ++i) {
    if (read(from, &byte, 1) != 1) break;
    const std::uint64_t end_ns = CpuTimeNs() + burst_ns;
    while (CpuTimeNs() < end_ns) {
    }
    if (write(to, &byte, 1) != 1) break;
  }
  _exit(0);
}

// The last account of a process that has ended and was not waited for.
std::uint64_t AccountOf(pid_t pid) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0) {
    return 0;
  }
  std::uint64_t ran_ns = 0, last_ns = 0;
  // It becomes a zombie just before its last switch.
  do {
    last_ns = ran_ns;
    usleep(20'000);
    std::ifstream("/proc/" + std::to_string(pid) + "/schedstat") >> ran_ns;
  } while (ran_ns != last_ns);
  return ran_ns;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int bursts = atoi(argv[1]);
  const auto burst_ns = static_cast<std::uint64_t>(atoll(argv[2]));
  std::array<std::array<int, 2>, 2> pipes{};
  for (auto& pair : pipes) {
    if (pipe(pair.data()) != 0) return 1;
  }
  std::array<pid_t, 2> pids{};
  for (std::size_t i = 0; i < pids.size(); ++i) {
    pids[i] = fork();
    if (pids[i] < 0) return 1;
    if (pids[i] == 0) Play(pipes[i][0], pipes[1 - i][1], bursts, burst_ns);
  }
  if (write(pipes[0][1], "x", 1) != 1) return 1;
  for (const pid_t pid : pids) {
    printf("ran %d %llu\n", pid,
           static_cast<unsigned long long>(AccountOf(pid)));
  }
  for (const pid_t pid : pids) waitpid(pid, nullptr, 0);
  return 0;
}
