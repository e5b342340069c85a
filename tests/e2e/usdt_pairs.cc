// USDT probes with the names that other programs give to the begin and the end
// of a segment: `usdt_pairs N` hits each pair N times.
#include <cstdlib>

#include "countrace/hooks.h"

int main(int argc, char** argv) {
  const int calls = argc > 1 ? std::atoi(argv[1]) : 1;
  for (int i = 0; i < calls; ++i) {
    COUNTRACE_HOOK("pairs", "query__start");
    COUNTRACE_HOOK("pairs", "function__entry");
    COUNTRACE_HOOK("pairs", "gc__begin");
    COUNTRACE_HOOK("pairs", "gc__end");
    COUNTRACE_HOOK("pairs", "function__return");
    COUNTRACE_HOOK("pairs", "query__done");
    COUNTRACE_HOOK("pairs", "commit__start");  // has no end
  }
  return 0;
}
