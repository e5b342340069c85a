// Programs whose functions' shares are known: Half, Third and Fifth have about
// 50, 30 and 20 % of what is counted, in an order that has no period, or in one
// that has.
//
// usage: shares_workload cpu TIMES SEED
//          so many pieces of about 100 us of computing
//        shares_workload pages TIMES SEED
//          touches so many fresh pages, each with its own fault
//        shares_workload allocations TIMES SEED
//          so many calls of malloc
//        shares_workload pattern TIMES LENGTH
//          as allocations, but each LENGTH calls are those before again
// Prints how many each had, and all of the process: nanoseconds of CPU time,
// page faults, or calls of malloc.
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

constexpr std::uint64_t kPages = 4096;

volatile std::uint64_t sink;
char* pages = nullptr;
std::size_t page_bytes = 0;
std::uint64_t touched = 0;

std::uint64_t ClockNs(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

// A probe at the begin of malloc sees no frame of the function that called it,
// as that of malloc does not exist yet: this one stands between.
__attribute__((noinline)) void Allocate() {
  void* const at = std::malloc(64);
  sink = reinterpret_cast<std::uintptr_t>(at);
  std::free(at);
}

#define FUNCTION(name)                                            \
  __attribute__((noinline)) void name(char what) {                \
    switch (what) {                                               \
      case 'c':                                                   \
        for (int i = 0; i < 40'000; ++i) sink = sink * 3 + 1;     \
        break;                                                    \
      case 'a':                                                   \
        Allocate();                                               \
        break;                                                    \
      default:                                                    \
        pages[touched++ % kPages * page_bytes] = 1;               \
    }                                                             \
    sink = sink + 1; /* no call is the last thing that it does */ \
  }
FUNCTION(Half)
FUNCTION(Third)
FUNCTION(Fifth)

namespace {

// Which function has the tenth `tenth` of ten.
std::size_t FunctionOf(std::uint64_t tenth) {
  if (tenth < 5) return 0;
  return tenth < 8 ? 1 : 2;
}

void Call(std::size_t function, char what) {
  if (function == 0) return Half(what);
  if (function == 1) return Third(what);
  return Fifth(what);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const bool pattern = std::strcmp(argv[1], "pattern") == 0;
  const char what = pattern ? 'a' : argv[1][0];
  const auto times = static_cast<std::uint64_t>(std::atoll(argv[2]));
  auto state = static_cast<std::uint64_t>(std::atoll(argv[3]));
  const std::uint64_t length = state;
  if (pattern && length == 0) return 2;
  page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const at = mmap(nullptr, kPages * page_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED ||
      madvise(at, kPages * page_bytes, MADV_NOHUGEPAGE) != 0) {
    return 1;
  }
  pages = static_cast<char*>(at);
  std::array<std::uint64_t, 3> had{};
  for (std::uint64_t i = 0; i < times; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const std::size_t function =
        FunctionOf(pattern ? i % length * 10 / length : (state >> 33) % 10);
    if (what == 'p' && touched % kPages == 0) {
      madvise(at, kPages * page_bytes, MADV_DONTNEED);
    }
    const std::uint64_t begin =
        what == 'c' ? ClockNs(CLOCK_THREAD_CPUTIME_ID) : 0;
    Call(function, what);
    had[function] += what == 'c' ? ClockNs(CLOCK_THREAD_CPUTIME_ID) - begin : 1;
  }
  std::uint64_t all = times;
  if (what == 'c') all = ClockNs(CLOCK_PROCESS_CPUTIME_ID);
  if (what == 'p') {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    all = static_cast<std::uint64_t>(usage.ru_minflt + usage.ru_majflt);
  }
  std::printf(
      "{\"Half\": %llu, \"Third\": %llu, \"Fifth\": %llu, "
      "\"all\": %llu}\n",
      static_cast<unsigned long long>(had[0]),
      static_cast<unsigned long long>(had[1]),
      static_cast<unsigned long long>(had[2]),
      static_cast<unsigned long long>(all));
}
