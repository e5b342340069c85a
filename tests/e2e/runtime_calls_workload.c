/* A program with hooks for runtime_calls_test.py.
 *
 * usage: runtime_calls_workload CALLS MS [signals]: two threads with CALLS
 * calls each of calls:call, and calls:work, which computes for MS ms of CPU
 * time; long texts in calls:text. Its first hook is its first statement. With
 * `signals` another thread sends as many to the first as it can meanwhile, so
 * that handlers begin where the runtime library unblocks them; each makes one
 * getppid, and their number is printed. */
#define _GNU_SOURCE
#include <countrace/hooks.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long cpu_ms(void) {
  struct timespec used; /* the kernel's: the test replaces clock_gettime */
  syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &used);
  return used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

static void* call(void* calls) {
  for (long i = 0; i < *(const long*)calls; ++i) {
    COUNTRACE_ENTER("calls", "call", i);
    COUNTRACE_EXIT("calls", "call");
  }
  return calls;
}

static atomic_long handled;
static atomic_int ended;
static pthread_t first;

static void handle(int number) {
  (void)number;
  syscall(SYS_getppid);
  atomic_fetch_add(&handled, 1);
}

static void* send_signals(void* none) {
  while (!atomic_load(&ended)) pthread_kill(first, SIGUSR1);
  return none;
}

int main(int argc, char** argv) {
  COUNTRACE_HOOK("calls", "first");
  long calls = argc > 1 ? atol(argv[1]) : 1000;
  pthread_t thread;
  if (pthread_create(&thread, NULL, &call, &calls) != 0) return 1;
  pthread_t sender;
  const int signals = argc > 3;
  if (signals) {
    first = pthread_self();
    signal(SIGUSR1, &handle);
    if (pthread_create(&sender, NULL, &send_signals, NULL) != 0) return 1;
    while (atomic_load(&handled) == 0) {
    }
  }
  for (int i = 0; i == 0 || (signals && i < 100); ++i) {
    call(&calls);
    if (atomic_load(&handled) >= 300) break;
  }
  pthread_join(thread, NULL);
  if (signals) {
    atomic_store(&ended, 1);
    pthread_join(sender, NULL);
    printf("%ld\n", atomic_load(&handled));
  }
  COUNTRACE_ENTER("calls", "work");
  const long end = cpu_ms() + (argc > 2 ? atol(argv[2]) : 0);
  while (cpu_ms() < end) {
  }
  COUNTRACE_EXIT("calls", "work");
  static char text[2000];
  for (size_t bytes = 510; bytes <= 514; ++bytes) {
    memset(text, 'x', bytes);
    text[bytes] = 0;
    COUNTRACE_HOOK("calls", "text", bytes, (const char*)text);
  }
  return 7;
}
