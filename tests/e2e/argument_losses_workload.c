// Calls a function, hits a probe and makes a system call, each with arguments
// that follow from the number of the round.
//
// usage: argument_losses_workload ROUNDS [CALLS]: CALLS system calls a round.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "countrace/hooks.h"

static volatile long sink;

__attribute__((noinline, noclone, used)) long known(long index,
                                                    unsigned long large,
                                                    const char* text) {
  sink += index + (long)large + text[0];
  return index;
}

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? atol(argv[1]) : 100;
  const long calls = argc > 2 ? atol(argv[2]) : 1;
  char text[512];
  for (long i = 0; i < rounds; ++i) {
    const size_t length = (size_t)(i % 200);
    memset(text, 'a' + (int)(i % 26), length);
    snprintf(text + length, sizeof(text) - length, ".%ld", i);
    const unsigned long large = (unsigned long)i << 40 | (unsigned long)i;
    known(i, large, text);
    COUNTRACE_HOOK("known", "hit", i, large, text);
    for (long call = 0; call < calls; ++call) lseek(-1, i, 1000 + call);
  }
  return 0;
}
