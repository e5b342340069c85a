// Raises and lowers levels around work with a given number of page faults.
// Prints the pages that each level's owner touched while it was up.
//
// `exec`: raises them first, and becomes itself without an argument. `ticks N`:
// nothing of this, but raises one, hits a hook N times, and lowers it.
#include <countrace/hooks.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

constexpr std::size_t kPageBytes = 4096;

// Each page is new: as many page faults.
void Touch(std::size_t pages) {
  COUNTRACE_SEGMENT("shop", "touch", pages);
  void* const memory = mmap(nullptr, pages * kPageBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::exit(1);
  madvise(memory, pages * kPageBytes, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < pages; ++i) {
    static_cast<volatile char*>(memory)[i * kPageBytes] = 1;
  }
  munmap(memory, pages * kPageBytes);
}

}  // namespace

int main(int count, char** words) {
  if (count == 3 && std::strcmp(words[1], "ticks") == 0) {
    COUNTRACE_LEVEL("shop", "ticking", true);
    for (int i = 0; i < std::atoi(words[2]); ++i) {
      COUNTRACE_HOOK("shop", "tick", i);
    }
    COUNTRACE_LEVEL("shop", "ticking", false);
    return 0;
  }
  if (count == 2 && std::strcmp(words[1], "exec") == 0) {
    COUNTRACE_PROCESS_LEVEL("shop", "open", true);
    COUNTRACE_LEVEL("shop", "cold_cache", true);
    Touch(200);
    execl(words[0], words[0], nullptr);
    return 1;
  }
  Touch(100);  // every level is down
  COUNTRACE_PROCESS_LEVEL("shop", "open", true);
  COUNTRACE_LEVEL("shop", "cold_cache", 1);
  Touch(300);
  std::thread other([] {
    Touch(500);  // the process's level is up, this thread's is not
    COUNTRACE_LEVEL("shop", "cold_cache", true);
    Touch(700);  // its end lowers it
  });
  other.join();
  COUNTRACE_LEVEL("shop", "cold_cache", 0);
  Touch(1100);
  COUNTRACE_PROCESS_LEVEL("shop", "open", false);
  Touch(1300);
  std::printf("main 300\nother 700\nopen 2600\n");
  return 0;
}
