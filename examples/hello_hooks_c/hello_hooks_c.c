/* The same in C, where the program marks the exit of a segment itself. Try
 *   countrace record -o hello.ctf -- ./hello_hooks_c
 *   countrace report hello.ctf
 */
#include <countrace/hooks.h>
#include <stdio.h>

static double work(int terms) {
  COUNTRACE_ENTER("hello", "work", terms);
  double sum = 0;
  for (int i = 1; i <= terms; ++i) sum += 1.0 / i;
  COUNTRACE_EXIT("hello", "work");
  return sum;
}

int main(void) {
  for (int round = 1; round <= 100; ++round) {
    const double sum = work(round * 10000);
    COUNTRACE_HOOK("hello", "sum", sum);
  }
  puts("hello:work 100");
  return 0;
}
