// The cost of one hook in this process, and of the bare instructions it
// consists of. Prints one "NAME NS" line for each; run_bench.py runs it without
// and with recording and shows it beside the peers.
//
// Each figure is the median of 15 loops, the empty loop not subtracted.
#include <countrace/hooks.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr int kLoops = 15;

double NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 +
         static_cast<double>(now.tv_nsec);
}

template <typename F>
void Measure(const char* name, int iterations, F body) {
  std::vector<double> ns;
  for (int loop = 0; loop < kLoops; ++loop) {
    const double begin = NowNs();
    for (int i = 0; i < iterations; ++i) body(i);
    ns.push_back((NowNs() - begin) / iterations);
  }
  std::sort(ns.begin(), ns.end());
  printf("%s %.3f\n", name, ns[kLoops / 2]);
}

std::uint64_t ReadRaw() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return static_cast<std::uint64_t>(NowNs());
#endif
}

volatile std::uint64_t g_sink;

}  // namespace

// usage: hook_bench [ITERATIONS [CPU]]
int main(int argc, char** argv) {
  // Pins this thread alone: the runtime's helper thread can run on another CPU,
  // as LTTng's consumer daemon does. Under `taskset` it would share the CPU.
  const int cpu = argc > 2 ? atoi(argv[2]) : -1;
  if (cpu >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(cpu), &set);
    sched_setaffinity(0, sizeof(set), &set);
  }
  const int iterations = argc > 1 ? atoi(argv[1]) : 500000;
  Measure("empty_loop", iterations, [](int i) {
    __asm__ volatile("" : : "r"(i));
  });
  Measure("two_raw_clock_reads", iterations, [](int) {
    g_sink = ReadRaw();
    g_sink = ReadRaw();
  });
  Measure("two_clock_gettime", iterations, [](int) {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    clock_gettime(CLOCK_MONOTONIC, &now);
    g_sink = static_cast<std::uint64_t>(now.tv_nsec);
  });
  Measure("enter_exit", iterations, [](int i) {
    COUNTRACE_SEGMENT("bench", "segment");
    __asm__ volatile("" : : "r"(i));
  });
  Measure("hook_u64", iterations, [](int i) {
    COUNTRACE_HOOK("bench", "hook", static_cast<std::uint64_t>(i));
  });
  Measure("level", iterations,
          [](int i) { COUNTRACE_LEVEL("bench", "level", i % 2 != 0); });
  return 0;
}
