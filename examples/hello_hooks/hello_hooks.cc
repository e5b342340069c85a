// The smallest program with a segment and a point hook. Try
//   countrace record -o hello.ctf -- ./hello_hooks
//   countrace report hello.ctf
#include <countrace/hooks.h>

#include <cstdio>

static double Work(int terms) {
  COUNTRACE_SEGMENT("hello", "work", terms);  // exits on every way out
  double sum = 0;
  for (int i = 1; i <= terms; ++i) sum += 1.0 / i;
  return sum;
}

int main() {
  for (int round = 1; round <= 100; ++round) {
    const double sum = Work(round * 10000);
    COUNTRACE_HOOK("hello", "sum", sum);
  }
  std::puts("hello:work 100");
}
