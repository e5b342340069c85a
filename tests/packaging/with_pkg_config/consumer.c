#include <countrace/hooks.h>
#include <stdio.h>

int main(void) {
  COUNTRACE_ENTER("consumer", "main");
  puts("done");
  COUNTRACE_EXIT("consumer", "main");
  return 0;
}
