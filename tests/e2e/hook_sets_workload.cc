// Segments whose page faults are known: each call touches as many fresh pages.
// Usage: hook_sets_workload CALLS [SEED]
//
//   sets:drift    1 to 8, more and more
//   sets:first    17 in the first call, 9 in each other one
//   sets:bursty   20 in one of 20 calls, drawn at random
//   sets:steady   4
//   sets:none     none
#include <countrace/hooks.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>

namespace {

constexpr std::size_t kPageBytes = 4096;
volatile char* g_pages;  // the next fresh one

void Touch(std::size_t pages) {
  for (std::size_t i = 0; i < pages; ++i, g_pages += kPageBytes) *g_pages = 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::size_t calls = std::strtoul(argv[1], nullptr, 10);
  const auto seed = static_cast<unsigned short>(
      argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1);
  unsigned short random[3] = {seed, seed, 1};
  const std::size_t bytes = 64 * calls * kPageBytes;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return 1;
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  g_pages = static_cast<volatile char*>(memory);
  for (std::size_t i = 0; i < calls; ++i) {
    {
      COUNTRACE_SEGMENT("sets", "drift");
      Touch(1 + 8 * i / calls);
    }
    {
      COUNTRACE_SEGMENT("sets", "first");
      Touch(i == 0 ? 17 : 9);
    }
    {
      COUNTRACE_SEGMENT("sets", "bursty");
      Touch(erand48(random) < 0.05 ? 20 : 0);
    }
    {
      COUNTRACE_SEGMENT("sets", "steady");
      Touch(4);
    }
    { COUNTRACE_SEGMENT("sets", "none"); }
  }
  return 0;
}
