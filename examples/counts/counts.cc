// A program that reads its own counts: what one pass over new memory takes. It
// needs no recorder. Where the machine has no hardware counters it says so, and
// counts what the kernel counts.
#include <countrace/counts.h>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr std::size_t kPages = 256, kPageBytes = 4096;

// A set for the time of a scope.
class Counts {
 public:
  Counts() = default;
  Counts(const Counts&) = delete;
  Counts& operator=(const Counts&) = delete;
  ~Counts() { countrace_counts_close(&set_); }

  bool Open(const char* events) {
    const int error = countrace_counts_open(&set_, events);
    if (error == 0) return true;
    std::fprintf(stderr, "%s: %s\n", set_.wrong, countrace_counts_text(error));
    return false;
  }
  countrace_reading Read() const {
    countrace_reading reading{};
    countrace_counts_read(&set_, &reading);
    return reading;
  }

 private:
  countrace_counts set_{};
};

void Print(const char* name, const countrace_count& count) {
  switch (count.quality) {
    case COUNTRACE_EXACT:
      std::printf("%s %llu\n", name,
                  static_cast<unsigned long long>(count.value));
      break;
    case COUNTRACE_SCALED:
      std::printf("%s ~%llu, at least %llu\n", name,
                  static_cast<unsigned long long>(count.value),
                  static_cast<unsigned long long>(count.low));
      break;
    case COUNTRACE_NOTHING:
      std::printf("%s not counted\n", name);
      break;
  }
}

}  // namespace

int main() {
  Counts software, hardware;
  if (!software.Open("page-faults,task-clock")) return 1;
  const bool any_hardware = hardware.Open("instructions:u,cycles:u");

  const auto cycles_begin = hardware.Read(), begin = software.Read();
  {
    std::vector<char> memory(kPages * kPageBytes, 'x');
    const volatile char last = memory.back();  // the compiler keeps the pass
    static_cast<void>(last);
  }
  auto work = software.Read(), cycles = hardware.Read();
  countrace_counts_between(&begin, &work, &work);
  countrace_counts_between(&cycles_begin, &cycles, &cycles);

  Print("pass:faults", countrace_counts_value(&work, 0));
  Print("pass:task_clock_ns", countrace_counts_value(&work, 1));
  if (any_hardware) {
    Print("pass:instructions", countrace_counts_value(&cycles, 0));
    Print("pass:cycles", countrace_counts_value(&cycles, 1));
  }
}
