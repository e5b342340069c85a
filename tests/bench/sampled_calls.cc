// A program for sampling: the same work in 16,384 different stacks, by
// functions that call one another.
//
// usage: sampled_calls faults N
//          touches N fresh pages
//        sampled_calls work N
//          N times some microseconds of computing
// Prints the nanoseconds of CPU time that it took.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

constexpr unsigned kDepth = 7;  // two bits of a path for each
constexpr unsigned kPages = 4096;

volatile std::uint64_t sink;
char* pages = nullptr;
long page_bytes = 0;
bool is_fault = false;

std::int64_t CpuNs() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void Leaf(std::uint64_t number) {
  if (is_fault) {
    pages[static_cast<long>(number % kPages) * page_bytes] = 1;
    return;
  }
  for (int i = 0; i < 2000; ++i) sink = sink * 3 + 1;
}

void Descend(std::uint64_t number, unsigned depth);

#define STEP(name)                                                            \
  __attribute__((noinline)) void name(std::uint64_t number, unsigned depth) { \
    Descend(number, depth);                                                   \
    sink = sink + 1;                                                          \
  }
STEP(North)
STEP(East)
STEP(South)
STEP(West)

__attribute__((noinline)) void Descend(std::uint64_t number, unsigned depth) {
  if (depth == kDepth) {
    Leaf(number);
    return;
  }
  // Neighbours take other ways, as requests of a server do.
  const std::uint64_t path = number * 0x9e3779b97f4a7c15u;
  switch (path >> (62 - 2 * depth) & 3) {
    case 0:
      return North(number, depth + 1);
    case 1:
      return East(number, depth + 1);
    case 2:
      return South(number, depth + 1);
    default:
      return West(number, depth + 1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  is_fault = std::strcmp(argv[1], "faults") == 0;
  if (!is_fault && std::strcmp(argv[1], "work") != 0) return 2;
  const auto times = static_cast<std::uint64_t>(std::atoll(argv[2]));
  page_bytes = sysconf(_SC_PAGESIZE);
  const auto bytes = static_cast<std::size_t>(page_bytes) * kPages;
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED || madvise(at, bytes, MADV_NOHUGEPAGE) != 0) return 1;
  pages = static_cast<char*>(at);
  const std::int64_t begin = CpuNs();
  for (std::uint64_t i = 0; i < times; ++i) {
    if (is_fault && i % kPages == 0) madvise(at, bytes, MADV_DONTNEED);
    Descend(i, 0);
  }
  std::printf("%lld\n", static_cast<long long>(CpuNs() - begin));
}
