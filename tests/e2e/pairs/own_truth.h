// What a program of the matrix of pairs measures of itself, and prints.
//
// Each number has two readings: inside of a segment's hooks, and outside of
// them. The truth is between the two: what the hooks themselves take belongs
// to neither. Used by one thread at a time, as each truth is.
#ifndef TESTS_E2E_PAIRS_OWN_TRUTH_H_
#define TESTS_E2E_PAIRS_OWN_TRUTH_H_

#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace pairs {

inline std::int64_t ClockNs(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

inline std::int64_t Faults(int who) {
  rusage used{};
  getrusage(who, &used);
  return used.ru_minflt + used.ru_majflt;
}

inline std::int64_t RusageNs(int who) {
  rusage used{};
  getrusage(who, &used);
  return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1'000'000'000LL +
         (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1'000LL;
}

struct Reading {
  std::int64_t wall_ns = 0;
  std::int64_t cpu_ns = 0;
  std::int64_t faults = 0;
  std::int64_t waits = 0;  // how often the thread left its CPU to wait

  static Reading Now() {
    Reading now;
    rusage used{};
    getrusage(RUSAGE_THREAD, &used);
    now.faults = used.ru_minflt + used.ru_majflt;
    now.waits = used.ru_nvcsw;
    now.cpu_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
    now.wall_ns = ClockNs(CLOCK_MONOTONIC);
    return now;
  }
  void AddSince(const Reading& begin, const Reading& end) {
    wall_ns += end.wall_ns - begin.wall_ns;
    cpu_ns += end.cpu_ns - begin.cpu_ns;
    faults += end.faults - begin.faults;
    waits += end.waits - begin.waits;
  }
};

struct Truth {
  std::int64_t calls = 0;
  Reading inside;
  Reading outside;
  // The least that is not in inner segments, in user code alone.
  std::int64_t own_cpu_ns = 0;
  // Pages that are certainly touched first in it.
  std::int64_t touched_pages = 0;
};

// Adds its lifetime to one side of a truth.
class Span {
 public:
  explicit Span(Reading* sum) : sum_(sum), begin_(Reading::Now()) {}
  ~Span() { sum_->AddSince(begin_, Reading::Now()); }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  Reading* sum_;
  Reading begin_;
};

// The whole program, from where it is certainly recorded.
struct Life {
  std::int64_t begin_cpu_ns = 0;

  // Waits until the fifo, if there is one, is written: the recording runs.
  static Life BeginBehind(const char* gate) {
    if (gate != nullptr && *gate != 0) {
      const int file = open(gate, O_RDONLY);
      char byte = 0;
      if (file < 0 || read(file, &byte, 1) != 1) std::exit(3);
      close(file);
    }
    return {RusageNs(RUSAGE_SELF)};
  }
};

using Truths = std::map<std::string, Truth>;

// One line of JSON; `more` are further members, each with a comma before it.
// `touched_pages`: the page faults that are certain. Pages that the kernel maps
// in advance (the runtime library's buffers) are page faults for getrusage
// alone.
inline void Print(const Truths& truths, const Life& life,
                  std::int64_t touched_pages, const std::string& more) {
  std::printf("{\"pid\": %d, \"segments\": {", static_cast<int>(getpid()));
  const char* comma = "";
  for (const auto& [name, truth] : truths) {
    std::printf("%s\"%s\": {\"calls\": %lld, \"own_cpu_ns\": %lld", comma,
                name.c_str(), static_cast<long long>(truth.calls),
                static_cast<long long>(truth.own_cpu_ns));
    const auto print = [](const char* what, std::int64_t least,
                          std::int64_t most) {
      std::printf(", \"%s\": [%lld, %lld]", what, static_cast<long long>(least),
                  static_cast<long long>(most));
    };
    print("wall_ns", truth.inside.wall_ns, truth.outside.wall_ns);
    print("cpu_ns", truth.inside.cpu_ns, truth.outside.cpu_ns);
    print("faults", truth.touched_pages, truth.outside.faults);
    print("waits", truth.inside.waits, truth.outside.waits);
    std::printf("}");
    comma = ", ";
  }
  const std::int64_t faults = Faults(RUSAGE_SELF);
  const std::int64_t cpu_ns = RusageNs(RUSAGE_SELF);
  std::printf("}, \"cpu_ns\": [%lld, %lld], \"faults\": [%lld, %lld]%s}\n",
              static_cast<long long>(cpu_ns - life.begin_cpu_ns),
              static_cast<long long>(cpu_ns),
              static_cast<long long>(touched_pages),
              static_cast<long long>(faults), more.c_str());
}

}  // namespace pairs

#endif  // TESTS_E2E_PAIRS_OWN_TRUTH_H_
