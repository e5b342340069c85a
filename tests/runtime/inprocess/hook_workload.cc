// Instrumented program that the tests of the runtime library run and examine.
// Usage:
// hook_workload MODE [ARGUMENTS]; each mode prints what it emitted, one
// "emitted TID COUNT" line a thread, so that a test can compare.
//
// Point hook workload:tick carries a per-thread counter from 0 on: a lost, torn
// or misplaced record shows as a gap.
#include <countrace/hooks.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

int Tid() { return static_cast<int>(syscall(SYS_gettid)); }

void PrintEmitted(int tid, std::uint64_t count) {
  char line[64];
  const int bytes = snprintf(line, sizeof(line), "emitted %d %llu\n", tid,
                             static_cast<unsigned long long>(count));
  if (write(STDOUT_FILENO, line, static_cast<std::size_t>(bytes)) < 0) abort();
}

void Pairs(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    COUNTRACE_SEGMENT("workload", "pair");
  }
  PrintEmitted(Tid(), 2 * count);
}

void Ticks(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    COUNTRACE_HOOK("workload", "tick", i);
  }
  PrintEmitted(Tid(), count);
}

template <typename F>
void InThreads(std::uint64_t threads, F f) {
  std::vector<std::thread> all;
  for (std::uint64_t i = 0; i < threads; ++i) all.emplace_back(f);
  for (std::thread& thread : all) thread.join();
}

// --- dump rules --------------------------------------------------------------

// Segments and hooks with payloads of every kind, the same ones for one seed.
void Walk(std::uint64_t& state, int depth) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  const std::uint64_t draw = state >> 33;
  constexpr const char* kWords[] = {"GET", "PUT", "DELETE"};
  COUNTRACE_SEGMENT("walk", "step", draw % 100, static_cast<int>(draw % 7) - 3);
  COUNTRACE_HOOK("walk", "word", kWords[draw % 3],
                 static_cast<double>(draw % 10) / 4);
  if (depth < 6 && draw % 3 != 0) Walk(state, depth + 1);
  if (draw % 5 == 0) {
    COUNTRACE_SEGMENT("walk", "leaf");
    COUNTRACE_HOOK("walk", "here", &state);
  }
  COUNTRACE_ENTER("walk", "pair", depth);
  COUNTRACE_EXIT("walk", "pair");
}

void Walks(std::uint64_t count, std::uint64_t seed) {
  for (std::uint64_t i = 0; i < count; ++i) Walk(seed, 0);
}

// --- signals ----------------------------------------------------------------

std::atomic<std::uint64_t> g_in_handler{0};
std::atomic<bool> g_errno_changed{false};

// Handlers interrupt each other. Where a signal takes longer than the timer's
// period, they would nest until the stack is full, and what they interrupt
// would never go on.
constexpr int kDeepestHandlers = 8;
int g_handlers = 0, g_most_handlers = 0;
std::uint64_t g_last_handler = 0;

void SetTimer(long period_us) {
  const itimerval timer = {{0, period_us}, {0, period_us}};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

void OnTimer(int) {
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  if (++g_handlers > g_most_handlers) g_most_handlers = g_handlers;
  if (g_handlers < kDeepestHandlers) sigprocmask(SIG_UNBLOCK, &alarm, nullptr);
  errno = 4711;
  const std::uint64_t n = g_in_handler.fetch_add(1, std::memory_order_relaxed);
  if (n >= g_last_handler) SetTimer(0);
  {
    COUNTRACE_SEGMENT("workload", "handler", n);
    COUNTRACE_HOOK("workload", "in_handler", n, "text in a handler");
  }
  if (errno != 4711) g_errno_changed = true;
  // Until the handler has returned: its frame counts, too.
  sigprocmask(SIG_BLOCK, &alarm, nullptr);
  --g_handlers;
}

// Main hooks with and without payload while a timer interrupts them.
int Storm(std::uint64_t interrupts, long period_us) {
  struct sigaction action = {};
  action.sa_handler = &OnTimer;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  g_last_handler = interrupts;
  SetTimer(period_us);
  std::uint64_t ticks = 0;
  std::uint64_t pairs = 0;
  while (g_in_handler.load(std::memory_order_relaxed) < interrupts) {
    for (int i = 0; i < 50; ++i) {
      COUNTRACE_HOOK("workload", "tick", ticks);
      ++ticks;
      COUNTRACE_SEGMENT("workload", "pair");
      ++pairs;
    }
  }
  SetTimer(0);
  signal(SIGALRM, SIG_IGN);
  PrintEmitted(Tid(), ticks + 2 * pairs + 3 * g_in_handler);
  printf("ticks %llu handlers %llu\ndeepest %d\n",
         static_cast<unsigned long long>(ticks),
         static_cast<unsigned long long>(g_in_handler.load()), g_most_handlers);
  return g_errno_changed ? 1 : 0;
}

// --- processes --------------------------------------------------------------

int Forks(std::uint64_t forks, std::uint64_t threads) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> all;
  for (std::uint64_t i = 0; i < threads; ++i) {
    all.emplace_back([&stop] {
      std::uint64_t n = 0;
      while (!stop.load(std::memory_order_relaxed)) {
        COUNTRACE_HOOK("workload", "tick", n);
        if (++n % 256 == 0) usleep(50);  // busy, but the trace stays small
      }
      PrintEmitted(Tid(), n);
    });
  }
  for (std::uint64_t i = 0; i < forks; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      Ticks(100);
      std::thread([] { Ticks(10); }).join();
      _exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
  }
  stop = true;
  for (std::thread& thread : all) thread.join();
  return 0;
}

// Replaces itself `depth` times, every second time from a thread.
int ExecChain(const char* self, int depth) {
  Ticks(10);
  if (depth == 0) return 7;
  const std::string next = std::to_string(depth - 1);
  const auto replace = [&] {
    execl(self, self, "exec", next.c_str(), nullptr);
    _exit(99);
  };
  if (depth % 2 == 0) replace();
  std::thread(replace).join();
  return 99;
}

bool VforkExecOnce(const char* self) {
  const pid_t child = vfork();
  if (child == 0) {
    execl(self, self, "ticks", "1", "10", nullptr);
    _exit(99);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && status == 0;
}

int VforkExec(const char* self, std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    if (!VforkExecOnce(self)) return 1;
  }
  Ticks(10);
  return 0;
}

// --- clock ------------------------------------------------------------------

std::uint64_t MonotonicNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// Brackets each hook by CLOCK_MONOTONIC: its payload is the time before it and
// the time after the previous one.
void ClockBrackets(std::uint64_t count, std::uint64_t pause_us) {
  std::uint64_t after = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t before = MonotonicNs();
    COUNTRACE_HOOK("workload", "clock", before, after);
    after = MonotonicNs();
    if (pause_us != 0 && i % 64 == 0) {
      usleep(static_cast<useconds_t>(pause_us));
    }
  }
}

// --- counters ---------------------------------------------------------------

// Touches `pages` fresh pages in one segment; sleeps in another. Outermost
// segments workload:outer contain `inner` segments workload:inner, each of
// which touches 1 to 8 fresh pages, with a point hook between the two; a
// timer's signal handler has segments, too. Prints the pages.
void Nested(std::uint64_t outer, std::uint64_t inner) {
  struct sigaction action = {};
  action.sa_handler = [](int) { COUNTRACE_SEGMENT("workload", "handler"); };
  action.sa_flags = SA_RESTART;
  sigaction(SIGPROF, &action, nullptr);
  const itimerval timer = {{0, 500}, {0, 500}};
  setitimer(ITIMER_PROF, &timer, nullptr);
  std::uint32_t random = 12345;
  std::uint64_t pages = 0;
  for (std::uint64_t i = 0; i < outer; ++i) {
    COUNTRACE_SEGMENT("workload", "outer");
    for (std::uint64_t j = 0; j < inner; ++j) {
      COUNTRACE_HOOK("workload", "between", j);
      random = random * 1664525 + 1013904223;
      const std::size_t bytes = (1 + (random >> 28) % 8) * 4096;
      void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      madvise(memory, bytes, MADV_NOHUGEPAGE);
      {
        COUNTRACE_SEGMENT("workload", "inner");
        for (std::size_t at = 0; at < bytes; at += 4096) {
          static_cast<volatile char*>(memory)[at] = 1;
        }
      }
      munmap(memory, bytes);
      pages += bytes / 4096;
    }
  }
  const itimerval none = {};
  setitimer(ITIMER_PROF, &none, nullptr);
  printf("pid %d pages %llu\n", getpid(),
         static_cast<unsigned long long>(pages));
}

void Faults(std::uint64_t pages, std::uint64_t rounds) {
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::size_t bytes = pages * 4096;
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    {
      COUNTRACE_SEGMENT("workload", "faults");
      for (std::size_t at = 0; at < bytes; at += 4096) {
        static_cast<volatile char*>(memory)[at] = 1;
      }
    }
    {
      COUNTRACE_SEGMENT("workload", "sleeps");
      usleep(2000);
    }
    munmap(memory, bytes);
  }
}

// --- CPU time ---------------------------------------------------------------

// Spins on one CPU for some time, then prints the scheduler's counts.
int Spin(std::uint64_t milliseconds, unsigned cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof(set), &set);
  const std::uint64_t end = MonotonicNs() + milliseconds * 1'000'000u;
  while (MonotonicNs() < end) {
  }
  char text[128] = {};
  const int fd = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
  if (read(fd, text, sizeof(text) - 1) <= 0) return 1;
  printf("schedstat %d %s", getpid(), text);
  return 0;
}

// --- killing ----------------------------------------------------------------

// Counts in shared memory what it has committed, until it is killed. With a
// pause after every 256 hooks the trace of a slow recorder stays small.
int UntilKilled(const char* counter_file, std::uint64_t threads,
                std::uint64_t pause_us) {
  const int fd = open(counter_file, O_RDWR | O_CLOEXEC);
  auto* counters = static_cast<std::uint64_t*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  if (counters == MAP_FAILED) return 1;
  std::atomic<std::uint64_t> next{0};
  InThreads(threads, [&] {
    const std::uint64_t me = next++;
    for (std::uint64_t i = 0;; ++i) {
      COUNTRACE_HOOK("workload", "tick", i);
      __atomic_store_n(&counters[me], i + 1, __ATOMIC_RELEASE);
      if (pause_us != 0 && i % 256 == 0) {
        usleep(static_cast<useconds_t>(pause_us));
      }
    }
  });
  return 0;
}

// Long segments one after the other, until it is killed: a recording begins and
// ends inside a segment.
int LongSegments(std::uint64_t milliseconds) {
  for (;;) {
    COUNTRACE_SEGMENT("workload", "long");
    usleep(static_cast<useconds_t>(milliseconds * 1000));
  }
}

// The child does not exec; the parent waits for it.
int ForkedUntilKilled(const char* counter_file) {
  const pid_t child = fork();
  if (child == 0) return UntilKilled(counter_file, 1, 50);
  printf("child %d\n", child);
  fflush(stdout);
  int status = 0;
  return waitpid(child, &status, 0) == child ? 0 : 1;
}

// --- life cycle -------------------------------------------------------------

struct AtThreadEnd {
  ~AtThreadEnd() { COUNTRACE_HOOK("workload", "thread_destructor"); }
};
void OnKeyEnd(void*) { COUNTRACE_HOOK("workload", "key_destructor"); }

// Only mode "life" has hooks around main; glibc hands constructors argv.
bool g_life = false;
__attribute__((constructor(200))) void ReadMode(int argc, char** argv) {
  g_life = argc > 1 && strcmp(argv[1], "life") == 0;
}
struct AroundMain {
  AroundMain() {
    if (g_life) COUNTRACE_HOOK("workload", "before_main");
  }
  ~AroundMain() {
    if (g_life) COUNTRACE_HOOK("workload", "after_main");
  }
};
AroundMain g_around_main;

int LifeCycle() {
  pthread_key_t key;
  pthread_key_create(&key, &OnKeyEnd);
  for (int i = 0; i < 10; ++i) {
    std::thread([key] {
      static thread_local AtThreadEnd at_end;
      (void)&at_end;
      pthread_setspecific(key, &at_end);
      COUNTRACE_HOOK("workload", "tick", 0);
    }).join();
  }
  atexit([] { COUNTRACE_HOOK("workload", "at_exit"); });
  return 0;
}

int Libraries(const char* library, int times) {
  for (int i = 0; i < times; ++i) {
    void* handle = dlopen(library, RTLD_NOW);
    if (handle == nullptr) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    auto* call = reinterpret_cast<void (*)()>(dlsym(handle, "library_call"));
    call();
    dlclose(handle);
  }
  return 0;
}

int Exceptions(int times) {
  for (int i = 0; i < times; ++i) {
    try {
      COUNTRACE_SEGMENT("workload", "outer");
      COUNTRACE_SEGMENT("workload", "inner", i, "text", 2.5);
      throw i;
    } catch (int) {
      COUNTRACE_HOOK("workload", "caught");
    }
  }
  return 0;
}

std::uint64_t Number(const char* text) { return strtoull(text, nullptr, 10); }

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const auto number = [&](int i) { return i < argc ? Number(argv[i]) : 1; };
  if (mode == "pairs") {
    InThreads(number(2), [&] { Pairs(number(3)); });
    return 0;
  }
  if (mode == "ticks") {
    InThreads(number(2), [&] { Ticks(number(3)); });
    return 0;
  }
  if (mode == "walks") {
    std::atomic<std::uint64_t> next{0};
    InThreads(number(2), [&] { Walks(number(3), next++); });
    return 0;
  }
  if (mode == "short") {  // one thread after the other
    for (std::uint64_t i = 0; i < number(2); ++i) {
      std::thread([&] { Ticks(number(3)); }).join();
    }
    return 0;
  }
  if (mode == "storm") return Storm(number(2), static_cast<long>(number(3)));
  if (mode == "forks") return Forks(number(2), number(3));
  if (mode == "exec") return ExecChain(argv[0], static_cast<int>(number(2)));
  if (mode == "vfork") return VforkExec(argv[0], number(2));
  if (mode == "killed") {
    return UntilKilled(argv[2], number(3), argc > 4 ? number(4) : 0);
  }
  if (mode == "long") return LongSegments(number(2));
  if (mode == "forked") return ForkedUntilKilled(argv[2]);
  if (mode == "spin") return Spin(number(2), static_cast<unsigned>(number(3)));
  if (mode == "life") return LifeCycle();
  if (mode == "library") return Libraries(argv[2], static_cast<int>(number(3)));
  if (mode == "exceptions") return Exceptions(static_cast<int>(number(2)));
  if (mode == "clock") {
    InThreads(number(2), [&] { ClockBrackets(number(3), number(4)); });
    return 0;
  }
  if (mode == "faults") {
    Faults(number(2), number(3));
    return 0;
  }
  if (mode == "nested") {
    Nested(number(2), number(3));
    return 0;
  }
  if (mode == "no_fds") {
    const rlimit none = {3, 3};
    setrlimit(RLIMIT_NOFILE, &none);
    Ticks(number(2));
    return 0;
  }
  if (mode == "main_exits") {  // the main thread ends before another
    static std::thread other([] {
      usleep(200000);
      Ticks(10);
    });
    other.detach();
    Ticks(10);
    pthread_exit(nullptr);
  }
  fprintf(stderr, "hook_workload: unknown mode: %s\n", mode.c_str());
  return 2;
}
