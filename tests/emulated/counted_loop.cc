// Programs whose instructions are known: two for each iteration of a loop, on
// every architecture.
//
//   counted_loop segments CALLS ITERATIONS   segment loop:body around each call
//   counted_loop run ITERATIONS              no hooks
//   counted_loop interrupted CALLS ITERATIONS
//       as segments, while a timer's signal handler has hooks, too
#include <signal.h>
#include <sys/time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "countrace/hooks.h"

namespace {

// Two instructions for each iteration.
void Loop(std::uint64_t iterations) {
#if defined(__x86_64__)
  __asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(iterations) : : "cc");
#elif defined(__aarch64__)
  __asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(iterations) : : "cc");
#elif defined(__powerpc64__)
  __asm__ volatile("1: addic. %0, %0, -1\n\tbne 1b"
                   : "+b"(iterations)
                   :
                   : "cc", "xer");
#else
#error "a loop of two instructions for this architecture"
#endif
}

void OnTimer(int) {
  COUNTRACE_SEGMENT("loop", "handler");
  Loop(10);
}

void StartTimer() {
  struct sigaction action {};
  action.sa_handler = OnTimer;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  itimerval every{};
  every.it_interval.tv_usec = 100;
  every.it_value.tv_usec = 100;
  setitimer(ITIMER_REAL, &every, nullptr);
}

void Segments(std::uint64_t calls, std::uint64_t iterations) {
  for (std::uint64_t i = 0; i < calls; ++i) {
    COUNTRACE_SEGMENT("loop", "body");
    Loop(iterations);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const auto number = [&](int i) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : 0;
  };
  if (mode == "run" && number(2) > 0) {
    Loop(number(2));
  } else if (mode == "segments" && number(3) > 0) {
    Segments(number(2), number(3));
  } else if (mode == "interrupted" && number(3) > 0) {
    StartTimer();
    Segments(number(2), number(3));
  } else {
    std::fprintf(stderr,
                 "usage: counted_loop segments|interrupted CALLS ITERATIONS\n"
                 "       counted_loop run ITERATIONS\n");
    return 2;
  }
  return 0;
}
