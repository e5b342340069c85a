#include <countrace/hooks.h>

#include <cstdio>

int main() {
  COUNTRACE_SEGMENT("consumer", "main");
  std::puts("done");
}
