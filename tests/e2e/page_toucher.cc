// Touches fresh pages for the given milliseconds, and prints how many: each is
// one minor page fault of user code. Usage: page_toucher MS [PATTERN [SEED]]
//
//   (none)  bursts of 16 at a steady rate, in the main thread
//   steady  2 every 100 us, in a thread of its own, as the following
//   bursty  20 in each ms of bursts of 5 ms, with pauses of 15 ms on average
//   rare    one every 15 ms on average
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr std::uint64_t kUs = 1'000, kMs = 1'000'000;

std::uint64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

void WorkUntil(std::uint64_t until_ns) {
  while (NowNs() < until_ns) {
  }
}

void Touch(std::size_t pages) {
  constexpr std::size_t kPageBytes = 4096;
  void* const memory = mmap(nullptr, pages * kPageBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::exit(1);
  madvise(memory, pages * kPageBytes, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < pages; ++i) {
    static_cast<volatile char*>(memory)[i * kPageBytes] = 1;
  }
  munmap(memory, pages * kPageBytes);
}

struct Run {
  const char* pattern;
  std::uint64_t ns;
  unsigned short seed[3];
  std::uint64_t pages;
  int tid;
};

std::uint64_t Exponential(Run& run, std::uint64_t mean_ns) {
  return static_cast<std::uint64_t>(-std::log(1 - erand48(run.seed)) *
                                    static_cast<double>(mean_ns));
}

void* InThread(void* argument) {
  Run& run = *static_cast<Run*>(argument);
  run.tid = static_cast<int>(syscall(SYS_gettid));
  const bool rare = std::strcmp(run.pattern, "rare") == 0;
  const bool bursty = std::strcmp(run.pattern, "bursty") == 0;
  std::uint64_t now_ns = NowNs();
  const std::uint64_t end_ns = now_ns + run.ns;
  bool pause = bursty;
  std::uint64_t phase_end_ns = now_ns + Exponential(run, 15 * kMs);
  while (now_ns < end_ns) {
    if (rare) {
      WorkUntil(now_ns + Exponential(run, 15 * kMs));
    } else if (pause) {
      WorkUntil(phase_end_ns);
    } else {
      WorkUntil(now_ns + (bursty ? 50 : 100) * kUs);
    }
    const bool end_of_pause = bursty && pause;
    now_ns = NowNs();
    if (bursty && now_ns >= phase_end_ns) {
      pause = !pause;
      phase_end_ns = now_ns + Exponential(run, (pause ? 15 : 5) * kMs);
    }
    if (end_of_pause || now_ns >= end_ns) continue;
    const std::size_t pages = rare || bursty ? 1 : 2;
    Touch(pages);
    run.pages += pages;
  }
  return nullptr;
}

int TouchInThread(Run run) {
  // The first use of each function has faults of its own: not in the thread.
  Run first = run;
  WorkUntil(NowNs() + Exponential(first, kUs));
  Touch(1);
  pthread_t thread{};
  if (pthread_create(&thread, nullptr, &InThread, &run) != 0) return 1;
  pthread_join(thread, nullptr);
  std::printf("pid %d tid %d pages %llu\n", static_cast<int>(getpid()), run.tid,
              static_cast<unsigned long long>(run.pages));
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::uint64_t ns = std::strtoull(argv[1], nullptr, 10) * kMs;
  if (argc > 2) {
    const auto seed = static_cast<unsigned short>(
        argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 1);
    return TouchInThread({argv[2], ns, {seed, seed, 1}, 0, 0});
  }
  constexpr std::size_t kPages = 16;
  const std::uint64_t end_ns = NowNs() + ns;
  std::uint64_t pages = 0;
  while (NowNs() < end_ns) {
    Touch(kPages);
    pages += kPages;
    // Some work in between, so that a single switch has little effect.
    WorkUntil(NowNs() + 50 * kUs);
  }
  std::printf("pid %d pages %llu\n", static_cast<int>(getpid()),
              static_cast<unsigned long long>(pages));
  return std::fflush(stdout) == 0 ? 0 : 1;
}
