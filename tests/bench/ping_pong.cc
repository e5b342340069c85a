// Two threads send a byte back and forth through pipes: two context switches a
// round trip when pinned to one CPU. Prints "round_trip NS" and its own count
// of voluntary switches.
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

double NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 +
         static_cast<double>(now.tv_nsec);
}

void Pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(cpu), &set);
  sched_setaffinity(0, sizeof(set), &set);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 100000;
  const int cpu = argc > 2 ? atoi(argv[2]) : 1;
  int there[2];
  int back[2];
  if (pipe(there) != 0 || pipe(back) != 0) return 1;
  Pin(cpu);
  std::thread other([&] {
    char byte;
    for (int i = 0; i < rounds; ++i) {
      if (read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1) {
        return;
      }
    }
  });
  char byte = 'x';
  const double begin = NowNs();
  for (int i = 0; i < rounds; ++i) {
    if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) {
      return 1;
    }
  }
  const double ns = (NowNs() - begin) / rounds;
  other.join();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  printf("round_trip %.1f\nswitches %ld\n", ns, usage.ru_nvcsw);
  return 0;
}
