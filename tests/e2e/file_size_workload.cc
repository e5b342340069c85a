// Writes hook records while its files are limited: file_size_workload BYTES
// CALLS. BYTES: the RLIMIT_FSIZE that it sets for itself; 0: none. Every call
// is two records. Prints the calls; the exit status is 4.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>

#include "countrace/hooks.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const rlim_t bytes = std::strtoul(argv[1], nullptr, 10);
  const rlimit limit = {bytes, bytes};
  if (bytes != 0 && setrlimit(RLIMIT_FSIZE, &limit) != 0) return 3;
  const long calls = std::atol(argv[2]);
  for (long i = 0; i < calls; ++i) {
    COUNTRACE_SEGMENT("limited", "call");
  }
  std::printf("calls %ld\n", calls);
  return 4;
}
