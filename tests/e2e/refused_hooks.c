// A program whose hooks have names that are refused: with a colour, a byte that
// is no UTF-8 and a backslash.
#include <countrace/hooks.h>

int main(void) {
  COUNTRACE_HOOK("shop\033[5m", "=1+1\377");
  return 0;
}
