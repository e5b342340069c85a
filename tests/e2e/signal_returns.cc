// Spins for MILLISECONDS of CPU time while a timer of 1 ms interrupts it:
// signal_returns MILLISECONDS. Prints how many signals its handler received.
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

volatile sig_atomic_t g_signals = 0;

void OnTimer(int) { g_signals = g_signals + 1; }

long CpuMs() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const long end_ms = std::atol(argv[1]);
  struct sigaction action = {};
  action.sa_handler = &OnTimer;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  itimerval timer = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &timer, nullptr);
  volatile unsigned long sum = 0;
  while (CpuMs() < end_ms) {
    for (int i = 0; i < 100000; ++i) sum = sum + 1;
  }
  timer = {};
  setitimer(ITIMER_REAL, &timer, nullptr);
  std::printf("pid %d signals %d\n", getpid(), static_cast<int>(g_signals));
  return 0;
}
