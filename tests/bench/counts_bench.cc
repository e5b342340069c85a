// The cost of one read of countrace/counts.h, beside the bare read(2) of the
// same group. Prints one "NAME NS" line for each; where there is a PMU also the
// instructions of a read, user code and kernel, as the set itself counts them:
// the least of many.
#include <countrace/counts.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kLoops = 15;

double NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 +
         static_cast<double>(now.tv_nsec);
}

// `read` returns the first count of the set.
template <typename F>
void Measure(const char* set, const char* how, int iterations, bool counts,
             F read) {
  std::vector<double> ns;
  std::uint64_t least = UINT64_MAX;
  for (int loop = 0; loop < kLoops; ++loop) {
    const double begin = NowNs();
    std::uint64_t last = read();
    for (int i = 1; i < iterations; ++i) {
      const std::uint64_t now = read();
      least = std::min(least, now - last);
      last = now;
    }
    ns.push_back((NowNs() - begin) / iterations);
  }
  std::sort(ns.begin(), ns.end());
  std::printf("%s_%s %.1f\n", set, how, ns[kLoops / 2]);
  if (counts) {
    std::printf("%s_%s_instructions %llu\n", set, how,
                static_cast<unsigned long long>(least));
  }
}

void Compare(const char* name, const char* events, int iterations,
             bool counts) {
  countrace_counts set;
  if (const int error = countrace_counts_open(&set, events); error != 0) {
    std::fprintf(stderr, "SKIPPED: %s: %s\n", set.wrong,
                 countrace_counts_text(error));
    return;
  }
  Measure(name, "counts", iterations, counts, [&] {
    countrace_reading reading;
    countrace_counts_read(&set, &reading);
    return reading.counted[0];
  });
  Measure(name, "read", iterations, counts, [&] {
    std::uint64_t words[3 + 2] = {};
    if (read(set.fds[0], words, sizeof(words)) < 0) std::abort();
    return words[3];
  });
  countrace_counts_close(&set);
}

}  // namespace

// usage: counts_bench [ITERATIONS]
int main(int argc, char** argv) {
  const int iterations = argc > 1 ? std::atoi(argv[1]) : 300'000;
  Compare("software", "page-faults,context-switches", iterations, false);
  Compare("hardware", "instructions,cycles", iterations, true);
}
