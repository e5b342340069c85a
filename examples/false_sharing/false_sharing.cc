// Threads that count in one shared cache line, though each uses only its own
// counter: the second story of Zagha et al., "Performance analysis using the
// MIPS R10000 performance counters" (Supercomputing 1996). There the
// invalidations grew with the number of processors; the cure is the same, a
// cache line for each thread.
//
//   packed  counters side by side: each increment takes the line from the other
//           CPU
//   padded  each counter in a line of its own
//
//   for i in 1 2 3 4 5; do for v in packed padded; do
//     countrace record -o $v$i.ctf -- ./false_sharing $v
//   done; done
//   countrace diff --before packed?.ctf --after padded?.ctf
//
// Both take the same time where the threads never run at the same time.
#include <countrace/hooks.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kThreads = 2;
constexpr std::uint64_t kIncrements = 100'000;  // in a call

using Counter = std::atomic<std::uint64_t>;
// Two lines: processors prefetch them in pairs.
struct alignas(128) PaddedCounter {
  Counter value{0};
};

Counter packed[kThreads];
PaddedCounter padded[kThreads];

void Count(Counter& counter) {
  COUNTRACE_SEGMENT("counters", "count");
  for (std::uint64_t i = 0; i < kIncrements; ++i) {
    counter.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* const variant = argc > 1 ? argv[1] : "packed";
  const int calls = argc > 2 ? std::atoi(argv[2]) : 200;
  const bool is_packed = std::strcmp(variant, "packed") == 0;
  if ((!is_packed && std::strcmp(variant, "padded") != 0) || calls <= 0) {
    std::fputs("usage: false_sharing [packed|padded] [CALLS]\n", stderr);
    return 2;
  }
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    Counter& counter = is_packed ? packed[i] : padded[i].value;
    threads.emplace_back([&counter, calls] {
      for (int call = 0; call < calls; ++call) Count(counter);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kThreads; ++i) {
    sum += packed[i].load() + padded[i].value.load();
  }
  std::fprintf(stderr, "sum %llu\n", static_cast<unsigned long long>(sum));
  std::printf("counters:count %zu\n",
              kThreads * static_cast<std::size_t>(calls));
}
