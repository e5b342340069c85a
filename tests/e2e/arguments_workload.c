// Calls functions with known arguments, and prints each call as a line of
// "FUNCTION VALUE...", as the recording should show it.
//
// usage: arguments_workload CALLS [quiet]: `quiet` prints nothing.
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint16_t port_t;
struct pair {
  int a, b;
};
struct wide {
  long a, b, c;
};

static volatile long sink;

#define NOT_INLINED __attribute__((noinline, noclone, used))

NOT_INLINED long mixed(signed char small, port_t port, int number,
                       unsigned long large, const char* text, void* memory) {
  sink += small + port + number + (long)large + (text != 0) + (memory != 0);
  return sink & 7;
}
NOT_INLINED int after_decimal(double ratio, int number, const char* text) {
  sink += (long)ratio + number + (text != 0);
  return number;
}
NOT_INLINED int after_structure(struct pair pair, int number) {
  sink += pair.a + number;
  return number;
}
NOT_INLINED struct wide returns_structure(int number) {
  struct wide wide = {number, number, number};
  sink += number;
  return wide;
}
NOT_INLINED int many(int a, int b, int c, int d, int e, int f, int g) {
  sink += a + b + c + d + e + f + g;
  return g;
}

int main(int argc, char** argv) {
  const unsigned long calls = argc > 1 ? strtoul(argv[1], 0, 10) : 100;
  const int quiet = argc > 2;
  char text[512];
  for (unsigned long i = 0; i < calls; ++i) {
    // Each value follows from i, so that one of another call is seen.
    const size_t length = i % 200;
    memset(text, 'a' + (int)(i % 26), length);
    snprintf(text + length, sizeof(text) - length, ".%lu", i);
    const char* const passed = i % 17 == 0   ? 0
                               : i % 31 == 0 ? (const char*)8
                                             : text;
    const signed char small = (signed char)(i * 7);
    const port_t port = (port_t)(i * 1001);
    const int number = (int)i - 50;
    const unsigned long large = i << 40 | i;
    mixed(small, port, number, large, passed, (void*)(i * 16));
    after_decimal((double)i, number, text);
    if (i < 3) {
      const struct pair pair = {1, 2};
      after_structure(pair, number);
      returns_structure(number);
      many(1, 2, 3, 4, 5, 6, number);
    }
    if (quiet) continue;
    printf("mixed %d %u %d %lu %" PRIxPTR " %s\n", small, port, number, large,
           (uintptr_t)(i * 16),
           passed == text ? text
           : passed == 0  ? "(null)"
                          : "(unreadable)");
    printf("after_decimal %d %s\n", number, text);
  }
  return 0;
}
