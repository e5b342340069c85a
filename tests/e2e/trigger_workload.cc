// A program whose slow calls are known: trigger_workload MODE [ARGUMENTS].
//
//   calls COUNT EVERY MS   COUNT calls of trigger:call; each EVERY-th sleeps MS
//                          between the points trigger:before and trigger:after
//   hang MS                one call of trigger:call that sleeps MS, in a thread
//   points COUNT MS        trigger:point, MS apart
//   reads COUNT EVERY MS   read(2) on a pipe; each EVERY-th waits MS for data
//   killed MS              a thread of a child is in trigger:call when the
//                          child is killed; then MS go by
//   warm BEFORE AFTER MS   BEFORE calls of trigger:call, MS, trigger:warm,
//                          AFTER calls, MS: all of it in trigger:outer. Prints
//                          the ns from trigger:warm to the end.
//   paused ROUNDS CALLS MS  ROUNDS times CALLS calls of trigger:call and MS of
//                          computing, then trigger:pause with the number of
//                          the round, 3 calls, MS of sleep and trigger:resume;
//                          CALLS calls at the end: all of it in trigger:outer.
//                          Prints the ns outside of pauses, and all of them.
//   turns ROUNDS KEPT OUT THREADS
//                          in each of THREADS, in ROUNDS: KEPT calls of
//                          trigger:call, then OUT more between trigger:pause
//                          and trigger:resume; KEPT at the end, all of it in
//                          trigger:outer; each call writes to a page of its
//                          own. A thread waits in trigger:waits meanwhile.
//                          Prints the ns from the threads' begin to their end,
//                          and of these the ns in pauses.
//   --bench, or nothing    server:handle, server:warm, a pause of 20 ms from
//                          gc:begin to gc:end, server:handle for 30 ms
//   busy PAIRS THREADS PAIRS_PER_MS
//                          trigger:fast, as fast as it can if PAIRS_PER_MS is 0
#include <countrace/hooks.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

void SleepMs(long ms) {
  timespec left = {ms / 1000, ms % 1000 * 1'000'000};
  while (nanosleep(&left, &left) != 0) {
  }
}

void Call(long number, bool slow, long ms) {
  COUNTRACE_SEGMENT("trigger", "call", number);
  if (!slow) return;
  COUNTRACE_HOOK("trigger", "before", number);
  SleepMs(ms);
  COUNTRACE_HOOK("trigger", "after", number);
}

void Calls(long count, long every, long ms) {
  for (long i = 1; i <= count; ++i) {
    Call(i, i % every == 0, ms);
    if (i % 64 == 0) SleepMs(1);
  }
}

void Warm(long before, long after, long ms) {
  COUNTRACE_SEGMENT("trigger", "outer");
  Calls(before, before + 1, 0);
  SleepMs(ms);
  COUNTRACE_HOOK("trigger", "warm");
  const auto begin = std::chrono::steady_clock::now();
  Calls(after, after + 1, 0);
  SleepMs(ms);
  const auto end = std::chrono::steady_clock::now();
  printf("%ld\n",
         static_cast<long>((end - begin) / std::chrono::nanoseconds(1)));
}

void Paused(long rounds, long calls, long ms) {
  using Clock = std::chrono::steady_clock;
  COUNTRACE_SEGMENT("trigger", "outer");
  const auto begin = Clock::now();
  Clock::duration kept{};
  for (long i = 0; i <= rounds; ++i) {
    const auto since = Clock::now();
    Calls(calls, calls + 1, 0);
    if (i < rounds) {
      const auto until = Clock::now() + std::chrono::milliseconds(ms);
      while (Clock::now() < until) {
      }
    }
    kept += Clock::now() - since;
    if (i == rounds) break;
    COUNTRACE_HOOK("trigger", "pause", i + 1);
    Calls(3, 4, 0);
    SleepMs(ms);
    COUNTRACE_HOOK("trigger", "resume", i + 1);
  }
  const auto in_ns = [](Clock::duration time) {
    return static_cast<long>(time / std::chrono::nanoseconds(1));
  };
  printf("%ld %ld\n", in_ns(kept), in_ns(Clock::now() - begin));
}

struct Gate {
  explicit Gate(long threads) {
    pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(threads));
  }
  void Pass() { pthread_barrier_wait(&barrier); }
  pthread_barrier_t barrier;
};

void TakeTurns(long rounds, long kept, long out, Gate& gate) {
  COUNTRACE_SEGMENT("trigger", "outer");
  const long page = sysconf(_SC_PAGESIZE);
  const auto bytes =
      static_cast<std::size_t>(page * (rounds * (kept + out) + kept));
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) abort();
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  char* next = static_cast<char*>(memory);
  const auto calls = [&](long count) {
    for (long i = 0; i < count; ++i, next += page) {
      COUNTRACE_SEGMENT("trigger", "call", i);
      *next = 1;
      if (i % 8 == 0) usleep(50);
    }
  };
  for (long i = 0; i < rounds; ++i) {
    calls(kept);
    gate.Pass();
    gate.Pass();
    calls(out);
    gate.Pass();
    gate.Pass();
  }
  calls(kept);
}

void Turns(long rounds, long kept, long out, long threads) {
  using Clock = std::chrono::steady_clock;
  int ends[2];
  if (pipe(ends) != 0) abort();
  Gate gate(threads + 1), both(2);
  std::thread waits([&] {
    COUNTRACE_SEGMENT("trigger", "waits");
    both.Pass();
    char byte = 0;
    if (read(ends[0], &byte, 1) != 1) abort();
  });
  both.Pass();
  const auto begin = Clock::now();
  Clock::duration paused{};
  std::vector<std::thread> all;
  for (long i = 0; i < threads; ++i) {
    all.emplace_back([&] { TakeTurns(rounds, kept, out, gate); });
  }
  for (long i = 0; i < rounds; ++i) {
    gate.Pass();
    const auto since = Clock::now();
    COUNTRACE_HOOK("trigger", "pause", i + 1);
    gate.Pass();
    gate.Pass();
    COUNTRACE_HOOK("trigger", "resume", i + 1);
    paused += Clock::now() - since;
    gate.Pass();
  }
  for (std::thread& thread : all) thread.join();
  const auto in_ns = [](Clock::duration time) {
    return static_cast<long>(time / std::chrono::nanoseconds(1));
  };
  printf("%ld %ld\n", in_ns(Clock::now() - begin), in_ns(paused));
  if (write(ends[1], "x", 1) != 1) abort();
  waits.join();
}

void Bench() {
  const auto handle = [](long ms) {
    COUNTRACE_SEGMENT("server", "handle", ms);
    SleepMs(ms);
  };
  handle(1);
  COUNTRACE_HOOK("server", "warm");
  COUNTRACE_HOOK("gc", "begin");
  SleepMs(20);
  COUNTRACE_HOOK("gc", "end");
  handle(30);
}

void Reads(long count, long every, long ms) {
  int ends[2];
  if (pipe(ends) != 0) abort();
  std::thread writer([&] {
    for (long i = 1; i <= count; ++i) {
      if (i % every == 0) SleepMs(ms);
      if (write(ends[1], "x", 1) != 1) abort();
    }
  });
  char byte = 0;
  for (long i = 1; i <= count; ++i) {
    if (read(ends[0], &byte, 1) != 1) abort();
  }
  writer.join();
}

void Killed(long ms) {
  const pid_t child = fork();
  if (child == 0) {
    std::thread([] { Call(1, true, 60'000); }).detach();
    SleepMs(60'000);
  }
  SleepMs(50);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  Call(2, false, 0);
  SleepMs(ms);
}

void Busy(long pairs, long threads, long pairs_per_ms) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> all;
  for (long t = 0; t < threads; ++t) {
    all.emplace_back([=] {
      for (long i = 0; i < pairs; ++i) {
        if (pairs_per_ms > 0 && i % pairs_per_ms == 0) {
          std::this_thread::sleep_until(
              begin + std::chrono::milliseconds(i / pairs_per_ms));
        }
        COUNTRACE_SEGMENT("trigger", "fast");
      }
    });
  }
  for (std::thread& thread : all) thread.join();
}

}  // namespace

int main(int argc, char** argv) {
  const char* const mode = argc > 1 ? argv[1] : "--bench";
  const auto number = [&](int i) {
    return i < argc ? std::strtol(argv[i], nullptr, 10) : 1;
  };
  if (std::strcmp(mode, "calls") == 0) {
    Calls(number(2), number(3), number(4));
  } else if (std::strcmp(mode, "warm") == 0) {
    Warm(number(2), number(3), number(4));
  } else if (std::strcmp(mode, "paused") == 0) {
    Paused(number(2), number(3), number(4));
  } else if (std::strcmp(mode, "turns") == 0) {
    Turns(number(2), number(3), number(4), number(5));
  } else if (std::strcmp(mode, "--bench") == 0) {
    Bench();
  } else if (std::strcmp(mode, "hang") == 0) {
    std::thread([&] { Call(1, true, number(2)); }).join();
  } else if (std::strcmp(mode, "points") == 0) {
    for (long i = 0; i < number(2); ++i) {
      COUNTRACE_HOOK("trigger", "point", i);
      SleepMs(number(3));
    }
  } else if (std::strcmp(mode, "reads") == 0) {
    Reads(number(2), number(3), number(4));
  } else if (std::strcmp(mode, "killed") == 0) {
    Killed(number(2));
  } else if (std::strcmp(mode, "busy") == 0) {
    Busy(number(2), number(3), number(4));
  } else {
    std::fprintf(stderr, "trigger_workload: unknown mode: %s\n", mode);
    return 2;
  }
  return 0;
}
