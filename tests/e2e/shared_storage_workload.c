/* Clones a task that shares memory and thread-local storage with its creator;
 * both call a hook at the same time.
 *
 *   shared_storage_workload CALLS */
#define _GNU_SOURCE
#include <countrace/hooks.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

static long g_calls;
static char g_stack[256 * 1024] __attribute__((aligned(64)));

static int task(void* argument) {
  (void)argument;
  for (long i = 0; i < g_calls; ++i) {
    COUNTRACE_ENTER("shared", "task");
    COUNTRACE_EXIT("shared", "task");
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  g_calls = atol(argv[1]);
  const pid_t child = clone(&task, g_stack + sizeof(g_stack),
                            CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD, NULL);
  if (child < 0) return 3;
  for (long i = 0; i < g_calls; ++i) {
    COUNTRACE_ENTER("shared", "thread");
    COUNTRACE_EXIT("shared", "thread");
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) return 4;
  puts("done");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 5;
}
