// A program whose calls, their arguments, callers and results are known:
// dump_rule_workload CALLS. For i from 0 to CALLS - 1 it calls
// rule_target(i, -i), from rule_even if i is even, else from rule_odd; it fires
// a USDT probe with i, as an int, and its address; and it makes three system
// calls: close(-1), which fails, getppid(), and dup2(0, 900 + i % 10), which
// returns its second argument.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "countrace/hooks.h"

extern "C" {

__attribute__((noinline)) long rule_target(long value, long negative) {
  __asm__ volatile("" : : : "memory");
  return value * 2 + negative;
}

// The sum keeps these from being tail calls.
__attribute__((noinline)) long rule_even(long value) {
  return rule_target(value, -value) + 1;
}

__attribute__((noinline)) long rule_odd(long value) {
  return rule_target(value, -value) + 2;
}

}  // extern "C"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const long calls = std::atol(argv[1]);
  long sum = 0;
  for (long i = 0; i < calls; ++i) {
    sum += i % 2 == 0 ? rule_even(i) : rule_odd(i);
    const int narrow = static_cast<int>(-i);
    volatile short in_memory = static_cast<short>(i);
    COUNTRACE_HOOK("rules", "step", narrow, static_cast<short>(in_memory), 7);
    syscall(SYS_close, -1);
    syscall(SYS_getppid);
    syscall(SYS_dup3, 0, 900 + i % 10, 0);
  }
  std::printf("pid %d sum %ld\n", getpid(), sum);
  return 0;
}
