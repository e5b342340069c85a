// A program that does little but fire hooks: hook_cost_workload CALLS. CALLS
// times an empty segment, and behind each tenth call a point hook.
#include <cstdlib>

#include "countrace/hooks.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const long calls = std::atol(argv[1]);
  for (long i = 1; i <= calls; ++i) {
    { COUNTRACE_SEGMENT("cost", "tiny"); }
    if (i % 10 == 0) COUNTRACE_HOOK("cost", "tenth");
  }
  return 0;
}
