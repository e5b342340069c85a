/* Enters a user namespace, which the kernel refuses to a process with threads,
 * and calls a hook before and after.
 *
 *   unshare_workload function|number CALLS */
#define _GNU_SOURCE
#include <countrace/hooks.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void work(long calls) {
  for (long i = 0; i < calls; ++i) {
    COUNTRACE_ENTER("unshared", "call");
    COUNTRACE_EXIT("unshared", "call");
  }
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const long calls = atol(argv[2]);
  work(calls / 2);
  const int flags = CLONE_NEWUSER | CLONE_NEWNS;
  const int failed = strcmp(argv[1], "number") == 0
                         ? (int)syscall(SYS_unshare, flags)
                         : unshare(flags);
  if (failed != 0) {
    perror("unshare");
    return 3;
  }
  work(calls - calls / 2);
  puts("done");
  return 0;
}
