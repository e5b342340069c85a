// A program that mostly fires hooks: hook_cost_workload CALLS. Runs CALLS empty
// segments, and a point hook after each tenth one.
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
