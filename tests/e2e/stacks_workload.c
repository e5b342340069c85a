// Chains of calls that are known, for a CPU time in milliseconds.
//
// usage: stacks_workload chain|sort|deep|thread MILLISECONDS
//   chain  main > Outer > Middle > Leaf
//   sort   main > SortAll > qsort of the C library > Compare > Leaf
//   deep   Leaf below 41 frames of Deeper with 1 KiB each
//   thread Outer in a thread that main waits for
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile uint64_t sink;
static double limit_seconds;

static double Seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// A function that calls none has no frame, whatever the options.
NOINLINE void Last(void) { sink += 3; }

NOINLINE int Leaf(int rounds) {
  for (int i = 0; i < rounds; ++i) sink = sink * 3 + 1;
  Last();
  return (int)sink;
}

// What follows each call keeps it from becoming a jump.
NOINLINE int Middle(int rounds) {
  const int result = Leaf(rounds);
  sink += 1;
  return result;
}

NOINLINE int Outer(int rounds) {
  const int result = Middle(rounds);
  sink += 2;
  return result;
}

NOINLINE int Compare(const void* a, const void* b) {
  Leaf(20000);
  const int left = *(const int*)a, right = *(const int*)b;
  return left < right ? -1 : left > right;
}

NOINLINE int SortAll(void) {
  int numbers[64];
  for (int i = 0; i < 64; ++i) numbers[i] = i * 37 % 64;
  qsort(numbers, 64, sizeof(numbers[0]), Compare);
  return numbers[0];
}

NOINLINE int Deeper(int depth) {
  volatile char room[1024];
  room[depth] = 1;
  const int result = depth == 0 ? Leaf(100000) : Deeper(depth - 1);
  return result + room[depth];
}

static void* InThread(void* nothing) {
  while (Seconds() < limit_seconds) Outer(100000);
  return nothing;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  limit_seconds = atof(argv[2]) / 1e3;
  if (strcmp(argv[1], "thread") == 0) {
    pthread_t thread;
    return pthread_create(&thread, NULL, InThread, NULL) != 0 ||
           pthread_join(thread, NULL) != 0;
  }
  const int sort = strcmp(argv[1], "sort") == 0;
  const int deep = strcmp(argv[1], "deep") == 0;
  int sum = 0;
  while (Seconds() < limit_seconds) {
    sum += sort ? SortAll() : deep ? Deeper(40) : Outer(100000);
  }
  return sum == 123456;
}
