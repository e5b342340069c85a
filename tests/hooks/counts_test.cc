#include "countrace/counts.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <thread>

namespace {

// A set for the time of a test.
class Set {
 public:
  explicit Set(const char* events)
      : error(countrace_counts_open(&set, events)) {}
  Set(const Set&) = delete;
  Set& operator=(const Set&) = delete;
  ~Set() { countrace_counts_close(&set); }

  countrace_reading Read() const {
    countrace_reading reading{};
    REQUIRE(countrace_counts_read(&set, &reading) == 0);
    return reading;
  }

  countrace_counts set;
  int error;
};

countrace_reading Between(const countrace_reading& begin,
                          const countrace_reading& end) {
  countrace_reading out;
  countrace_counts_between(&begin, &end, &out);
  return out;
}

rusage OfThread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage;
}

std::uint64_t Clock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// New memory, a page fault for each of its pages.
class NewPages {
 public:
  explicit NewPages(std::size_t pages)
      : bytes_(pages * kPageBytes),
        memory_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    madvise(memory_, bytes_, MADV_NOHUGEPAGE);
  }
  NewPages(const NewPages&) = delete;
  NewPages& operator=(const NewPages&) = delete;
  ~NewPages() { munmap(memory_, bytes_); }
  void Touch() {
    for (std::size_t at = 0; at < bytes_; at += kPageBytes) {
      static_cast<volatile char*>(memory_)[at] = 1;
    }
  }

 private:
  static inline const auto kPageBytes =
      static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::size_t bytes_;
  void* memory_;
};

std::uint64_t Faults(const rusage& usage) {
  return static_cast<std::uint64_t>(usage.ru_minflt + usage.ru_majflt);
}
std::uint64_t Switches(const rusage& usage) {
  return static_cast<std::uint64_t>(usage.ru_nvcsw + usage.ru_nivcsw);
}

}  // namespace

TEST_CASE("counts: page faults and switches are between getrusage's",
          "[hooks][counts]") {
  const Set set("page-faults,context-switches,minor-faults");
  if (set.error == COUNTRACE_COUNTS_ACCESS) {
    std::puts("SKIPPED: kernel.perf_event_paranoid");
    return;
  }
  REQUIRE(set.error == 0);
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    const std::size_t pages = 1 + random() % 300;
    NewPages memory(pages);
    OfThread();
    set.Read();  // all of the code is there now
    const rusage outer_begin = OfThread();
    const countrace_reading begin = set.Read();
    const rusage inner_begin = OfThread();
    memory.Touch();
    for (int i = 0; i < 3; ++i) usleep(1000);
    const rusage inner_end = OfThread();
    const countrace_reading end = set.Read();
    const rusage outer_end = OfThread();
    const countrace_reading work = Between(begin, end);
    const auto faults = countrace_counts_value(&work, 0);
    const auto switches = countrace_counts_value(&work, 1);
    CAPTURE(pages, faults.value, switches.value);
    CHECK(faults.quality == COUNTRACE_EXACT);
    CHECK(faults.low == faults.value);
    CHECK(faults.high == faults.value);
    CHECK(faults.value >= pages);
    CHECK(faults.value >= Faults(inner_end) - Faults(inner_begin));
    CHECK(faults.value <= Faults(outer_end) - Faults(outer_begin));
    CHECK(countrace_counts_value(&work, 2).value <= faults.value);
    CHECK(switches.value >= Switches(inner_end) - Switches(inner_begin));
    CHECK(switches.value <= Switches(outer_end) - Switches(outer_begin));
  }
}

TEST_CASE("counts: task-clock is the thread's CPU time", "[hooks][counts]") {
  const Set set("task-clock");
  if (set.error == COUNTRACE_COUNTS_ACCESS) {
    std::puts("SKIPPED: kernel.perf_event_paranoid");
    return;
  }
  REQUIRE(set.error == 0);
  const std::uint64_t wall = Clock(CLOCK_MONOTONIC);
  const countrace_reading begin = set.Read();
  const std::uint64_t cpu = Clock(CLOCK_THREAD_CPUTIME_ID);
  usleep(20'000);
  while (Clock(CLOCK_THREAD_CPUTIME_ID) - cpu < 20'000'000) {
  }
  const std::uint64_t cpu_ns = Clock(CLOCK_THREAD_CPUTIME_ID) - cpu;
  const countrace_reading work = Between(begin, set.Read());
  const std::uint64_t wall_ns = Clock(CLOCK_MONOTONIC) - wall;
  const auto clock = countrace_counts_value(&work, 0);
  CHECK(clock.quality == COUNTRACE_EXACT);
  // The scheduler's account leaves out what a host stole, perf's does not.
  CHECK(clock.value >= cpu_ns - cpu_ns / 50);
  CHECK(clock.value < wall_ns - 20'000'000);
  CHECK(work.enabled_ns == work.running_ns);
}

TEST_CASE("counts: hardware counters count a loop's instructions",
          "[hooks][counts][hardware]") {
  const Set set("instructions:u,cycles:u");
  if (set.error != 0) {
    std::printf("SKIPPED: no hardware counters: %s\n",
                countrace_counts_text(set.error));
    CHECK((set.error == COUNTRACE_COUNTS_ABSENT ||
           set.error == COUNTRACE_COUNTS_ACCESS));
    CHECK(std::string(set.set.wrong) == "instructions:u");
    return;
  }
  const countrace_reading begin = set.Read();
  for (int i = 0; i < 1'000'000; ++i) __asm__ volatile("" : "+r"(i));
  const countrace_reading work = Between(begin, set.Read());
  const auto instructions = countrace_counts_value(&work, 0);
  if (instructions.quality == COUNTRACE_EXACT) {
    CHECK(instructions.value >= 2'000'000);
  }
}

TEST_CASE("counts: what cannot be opened has a code, a text and its name",
          "[hooks][counts]") {
  struct Case {
    const char* events;
    int error;
    const char* wrong;
  };
  const std::string many = "r1,r2,r3,r4,r5,r6,r7,r8,r9";
  for (const Case& c :
       {Case{"", COUNTRACE_COUNTS_NUMBER, ""},
        {"no-such", COUNTRACE_COUNTS_NAME, "no-such"},
        {"page-faults,", COUNTRACE_COUNTS_NAME, ""},
        {",page-faults", COUNTRACE_COUNTS_NAME, ""},
        {"page-faults,,cs", COUNTRACE_COUNTS_NAME, ""},
        {"page-faults:x", COUNTRACE_COUNTS_NAME, "page-faults:x"},
        {"page faults", COUNTRACE_COUNTS_NAME, "page faults"},
        {"{cs}", COUNTRACE_COUNTS_NAME, "{cs}"},
        {"r", COUNTRACE_COUNTS_NAME, "r"},
        {"r12345678901234567", COUNTRACE_COUNTS_NAME, "r12345678901234567"}}) {
    CAPTURE(c.events);
    const Set set(c.events);
    if (set.error == COUNTRACE_COUNTS_ACCESS) continue;
    CHECK(set.error == c.error);
    CHECK(set.set.wrong == std::string(c.wrong));
    countrace_reading reading;
    CHECK(countrace_counts_read(&set.set, &reading) == COUNTRACE_COUNTS_CLOSED);
  }
  std::string seventeen = "cs";
  for (int i = 1; i < 17; ++i) seventeen += ",cs";
  const Set set(seventeen.c_str());
  CHECK((set.error == COUNTRACE_COUNTS_NUMBER ||
         set.error == COUNTRACE_COUNTS_ACCESS));
  std::string long_name(300, 'x');
  const Set cut(long_name.c_str());
  CHECK(cut.error == COUNTRACE_COUNTS_NAME);
  CHECK(std::string(cut.set.wrong) == std::string(63, 'x'));
  for (int error = 0; error <= COUNTRACE_COUNTS_CLOSED; ++error) {
    CHECK(countrace_counts_text(error) !=
          std::string(countrace_counts_text(-1)));
  }
}

TEST_CASE("counts: a set is of its thread and its process alone",
          "[hooks][counts]") {
  Set set("page-faults,context-switches");
  if (set.error == COUNTRACE_COUNTS_ACCESS) {
    std::puts("SKIPPED: kernel.perf_event_paranoid");
    return;
  }
  REQUIRE(set.error == 0);
  int of_thread = 0;
  std::thread([&] {
    countrace_reading reading;
    of_thread = countrace_counts_read(&set.set, &reading);
  }).join();
  CHECK(of_thread == COUNTRACE_COUNTS_THREAD);
  const pid_t child = fork();
  if (child == 0) {
    countrace_reading reading;
    const int error = countrace_counts_read(&set.set, &reading);
    countrace_counts_close(&set.set);
    countrace_counts own;
    const int opened = countrace_counts_open(&own, "page-faults");
    _exit(error == COUNTRACE_COUNTS_THREAD && opened == 0 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  errno = 77;
  set.Read();
  CHECK(errno == 77);

  // The program closes what is not its own, and uses the numbers again.
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(null, set.set.fds[0]);
  close(null);
  countrace_reading reading;
  CHECK(countrace_counts_read(&set.set, &reading) == COUNTRACE_COUNTS_CLOSED);
  countrace_counts_close(&set.set);
  countrace_counts_close(&set.set);
  CHECK(countrace_counts_read(&set.set, &reading) == COUNTRACE_COUNTS_CLOSED);
}

TEST_CASE("counts: opening and closing leaves nothing behind",
          "[hooks][counts]") {
  const auto lowest = [] {
    const int fd = dup(1);
    close(fd);
    return fd;
  };
  const int before = lowest();
  for (const char* events : {"page-faults,cs", "page-faults,no-such", ""}) {
    for (int i = 0; i < 50; ++i) const Set set(events);
    CHECK(lowest() == before);
  }
}

TEST_CASE("counts: a number says what it is worth", "[hooks][counts]") {
  const auto seed = GENERATE(take(200, random(0u, 0xffffffffu)));
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const std::uint64_t counted = random() >> (20 + random() % 44);
  const std::uint64_t running = random() % 1'000'000'000;
  const std::uint64_t waited = random() % 2 * (random() % 1'000'000'000);
  // However large the counters were before: they wrap as the type does.
  countrace_reading begin{}, end{};
  begin.events = end.events = 1;
  begin.counted[0] = random();
  begin.enabled_ns = random();
  begin.running_ns = random();
  end.counted[0] = begin.counted[0] + counted;
  end.running_ns = begin.running_ns + running;
  end.enabled_ns = begin.enabled_ns + running + waited;
  countrace_counts_between(&begin, &end, &end);
  const auto count = countrace_counts_value(&end, 0);
  CHECK(count.low == counted);
  CHECK(count.low <= count.high);
  if (waited == 0) {
    CHECK(count.quality == COUNTRACE_EXACT);
    CHECK(count.value == counted);
    CHECK(count.high == counted);
  } else if (running == 0) {
    CHECK(count.quality == COUNTRACE_NOTHING);
    CHECK(count.value == 0);
  } else {
    CHECK(count.quality == COUNTRACE_SCALED);
    CHECK(count.value >= count.low);
    const double share =
        static_cast<double>(running) / static_cast<double>(running + waited);
    CHECK(static_cast<double>(count.value) * share ==
          Approx(static_cast<double>(counted)).margin(1));
  }
  CHECK(countrace_counts_value(&end, 1).quality == COUNTRACE_NOTHING);
}

TEST_CASE("counts: a page's times are the kernel's arithmetic",
          "[hooks][counts]") {
  perf_event_mmap_page page{};
  page.cap_user_time = 1;
  page.time_enabled = 5000;
  page.time_running = 3000;
  page.time_offset = 700;
  page.time_mult = 0;
  page.time_shift = 10;
  countrace_detail_page_read read{};
  CHECK(countrace_detail_read_page(&page, 1, &read) == 0);  // no counter
  CHECK(countrace_detail_page_ns(&page) == 700);
  // A short clock: the mask makes it the ticks since time_cycles.
  page.cap_user_time_short = 1;
  page.time_cycles = 40'960;
  page.time_mask = 0;
  page.time_mult = 3 << 10;
  CHECK(countrace_detail_page_ns(&page) == 700 + 40'960u * 3);
}
