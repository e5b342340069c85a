// Hooks whose events in an LTTng trace are known.
//
//   values               each type of payload value, once
//   c N                  N times, from C: a segment with two hooks inside
//   server               what docs/lttng.md shows
//   edges                hooks before and behind main(), too
//   threads THREADS N    N segments with a point hook inside, in each thread
//   fork N               N segments in a process, its child and its grandchild
//   signals N            N segments, in each a signal handler with a hook
//   library FILE N       N times: loads FILE, calls it, unloads it
//   steps                for each number on stdin: a hook, a segment, an enter
//                        and exit with it; prints "NUMBER OPEN-GATES"
//   calls THREADS N      nested segments that last some microseconds
//   until-eof THREADS    segments with a hook inside, until stdin ends
//   loop N               N segments and hooks in loop_of_hooks()
#include <countrace/hooks.h>
#include <dlfcn.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

extern "C" void lttng_workload_c(int number);

namespace {

bool AtEdges() { return getenv("LTTNG_TEST_EDGES") != nullptr; }
// Runs before main(), and after the destructors of most libraries.
__attribute__((constructor(102))) void BeforeMain() {
  if (AtEdges()) COUNTRACE_HOOK("lttng_test", "before_main");
}
__attribute__((destructor(102))) void BehindMain() {
  if (AtEdges()) COUNTRACE_HOOK("lttng_test", "behind_main");
}

enum class Colour : unsigned char { kRed = 3 };

void Values() {
  COUNTRACE_HOOK("lttng_test", "none");
  COUNTRACE_HOOK("lttng_test", "integers", INT64_MIN, -1, UINT64_MAX,
                 static_cast<short>(7), true, Colour::kRed);
  COUNTRACE_HOOK("lttng_test", "doubles", 2.5, 0.1, -1e300, 1.0f / 3.0f);
  const char* const nothing = nullptr;
  COUNTRACE_HOOK("lttng_test", "strings", "plain", std::string("a\"b\\c\n\x7f"),
                 nothing);
  COUNTRACE_HOOK("lttng_test", "pointer",
                 reinterpret_cast<const void*>(0xabcdef));
  COUNTRACE_HOOK("lttng_test", "long", std::string(600, 'x'));
  COUNTRACE_HOOK("lttng_test", "longer", std::string(400, 'a'),
                 std::string(400, 'b'), std::string(400, 'c'), 5);
  COUNTRACE_HOOK_ID(17, "lttng_test", "numbered", 1);
  COUNTRACE_SEGMENT_ID(18, "lttng_test", "scope", 4096, "GET");
}

void Server() {
  for (int i = 0; i < 100; ++i) {
    COUNTRACE_SEGMENT("server", "handle", i, "GET", 0.25);
    COUNTRACE_HOOK("server", "bytes", 4096 - i % 2);
  }
}

void Segments(int count) {
  for (int i = 0; i < count; ++i) {
    COUNTRACE_SEGMENT("lttng_test", "segment", i);
    COUNTRACE_HOOK("lttng_test", "inside", i);
  }
}

template <typename F>
void InThreads(int threads, F f) {
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([f] {
      printf("tid %ld\n", syscall(SYS_gettid));
      f();
    });
  }
  for (std::thread& thread : running) thread.join();
}

void Fork(int count, int generations) {
  printf("pid %d\n", getpid());
  fflush(stdout);
  Segments(count);
  if (generations == 0) return;
  const pid_t child = fork();
  if (child == 0) {
    Fork(count, generations - 1);
    fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) exit(1);
}

void OnSignal(int) { COUNTRACE_HOOK("lttng_test", "in_handler", 1); }

void Signals(int count) {
  signal(SIGUSR1, OnSignal);
  for (int i = 0; i < count; ++i) {
    COUNTRACE_SEGMENT("lttng_test", "interrupted", i);
    raise(SIGUSR1);
  }
}

void Library(const char* file, int count) {
  for (int i = 0; i < count; ++i) {
    void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      fprintf(stderr, "%s\n", dlerror());
      exit(1);
    }
    reinterpret_cast<void (*)(int)>(dlsym(library, "lttng_library_call"))(i);
    dlclose(library);
  }
}

// Open gates among the sites below and all others.
int OpenGates() {
  int open = 0;
  for (auto at = __start_countrace_hooks; at < __stop_countrace_hooks; ++at) {
    if (__atomic_load_n(&(*at)->gate.word, __ATOMIC_RELAXED) != 0) ++open;
  }
  return open;
}

void Steps() {
  int number = 0;
  while (scanf("%d", &number) == 1) {
    COUNTRACE_HOOK("lttng_test", "step", number);
    { COUNTRACE_SEGMENT("lttng_test", "step_segment", number); }
    COUNTRACE_ENTER("lttng_test", "step_phase", number);
    COUNTRACE_EXIT("lttng_test", "step_phase");
    printf("%d %d\n", number, OpenGates());
    fflush(stdout);
  }
}

volatile unsigned g_work;

void Work(unsigned turns) {
  for (unsigned i = 0; i < turns; ++i) g_work = g_work + i;
}

void Calls(int count) {
  for (int i = 0; i < count; ++i) {
    COUNTRACE_SEGMENT("lttng_test", "outer", i);
    Work(200);
    for (int j = 0; j < 1 + i % 3; ++j) {
      COUNTRACE_SEGMENT("lttng_test", "inner");
      Work(500);
    }
  }
}

void UntilEof(int threads) {
  std::atomic<bool> stop{false};
  std::thread reader([&stop] {
    while (getchar() != EOF) {
    }
    stop = true;
  });
  puts("ready");
  fflush(stdout);
  InThreads(threads, [&stop] {
    for (int i = 0; !stop; ++i) {
      COUNTRACE_SEGMENT("lttng_test", "segment", i);
      Work(20000);
      COUNTRACE_HOOK("lttng_test", "inside", std::to_string(i));
    }
  });
  reader.join();
}

}  // namespace

// A separate symbol, at which callgrind begins to count.
extern "C" __attribute__((noinline)) void loop_of_hooks(int count) {
  for (int i = 0; i < count; ++i) {
    COUNTRACE_SEGMENT("lttng_test", "counted", i);
    COUNTRACE_HOOK("lttng_test", "counted_hook", i, 2.5);
  }
}

int main(int argc, char** argv) {
  // If its name is `server`, it is the server of docs/lttng.md.
  const char* const slash = strrchr(argv[0], '/');
  const std::string mode = argc > 1           ? argv[1]
                           : slash != nullptr ? slash + 1
                                              : argv[0];
  const auto number = [&](int i) { return argc > i ? atoi(argv[i]) : 0; };
  if (mode == "values") {
    Values();
  } else if (mode == "server") {
    Server();
  } else if (mode == "c") {
    for (int i = 0; i < number(2); ++i) lttng_workload_c(i);
  } else if (mode == "edges") {
    COUNTRACE_HOOK("lttng_test", "in_main");
  } else if (mode == "threads") {
    InThreads(number(2), [n = number(3)] { Segments(n); });
  } else if (mode == "fork") {
    Fork(number(2), 2);
  } else if (mode == "signals") {
    Signals(number(2));
  } else if (mode == "library" && argc > 3) {
    Library(argv[2], number(3));
  } else if (mode == "steps") {
    Steps();
  } else if (mode == "calls") {
    InThreads(number(2), [n = number(3)] { Calls(n); });
  } else if (mode == "until-eof") {
    UntilEof(number(2));
  } else if (mode == "loop") {
    loop_of_hooks(number(2));
  } else {
    fprintf(stderr, "usage: lttng_workload MODE ... (see the source)\n");
    return 2;
  }
  return 0;
}
