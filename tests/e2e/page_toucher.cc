// Touches fresh pages at a steady rate for the given milliseconds, and prints
// how many: each is one minor page fault of user code.
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

std::uint64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::uint64_t end_ns =
      NowNs() + std::strtoull(argv[1], nullptr, 10) * 1'000'000;
  constexpr std::size_t kPages = 16, kPageBytes = 4096;
  std::uint64_t pages = 0;
  while (NowNs() < end_ns) {
    void* const memory =
        mmap(nullptr, kPages * kPageBytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 1;
    madvise(memory, kPages * kPageBytes, MADV_NOHUGEPAGE);
    for (std::size_t i = 0; i < kPages; ++i) {
      static_cast<volatile char*>(memory)[i * kPageBytes] = 1;
    }
    munmap(memory, kPages * kPageBytes);
    pages += kPages;
    // Some work in between, so that a single switch has little effect.
    const std::uint64_t until_ns = NowNs() + 50'000;
    while (NowNs() < until_ns) {
    }
  }
  std::printf("pid %d pages %llu\n", static_cast<int>(getpid()),
              static_cast<unsigned long long>(pages));
  return std::fflush(stdout) == 0 ? 0 : 1;
}
