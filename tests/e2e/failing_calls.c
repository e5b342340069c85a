// Preloaded: of the program named FAILING_PROGRAM the FAILING_NUMBER-th
// allocation fails, others succeed. FAILING_NUMBER=0 fails none. When the
// program exits, FAILING_LOG gets the number of allocations.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void* __libc_malloc(size_t bytes);
extern void* __libc_calloc(size_t count, size_t bytes);
extern void* __libc_realloc(void* old, size_t bytes);
extern void* __libc_memalign(size_t alignment, size_t bytes);

static atomic_long g_made;
static long g_failing = -1;  // -1: this is another program
static pid_t g_pid;

__attribute__((constructor)) static void Begin(void) {
  const char* const program = getenv("FAILING_PROGRAM");
  const char* const number = getenv("FAILING_NUMBER");
  if (program == NULL || number == NULL ||
      strcmp(program, program_invocation_short_name) != 0) {
    return;
  }
  g_pid = getpid();
  g_failing = atol(number);
}

__attribute__((destructor)) static void End(void) {
  const char* const log = getenv("FAILING_LOG");
  if (g_failing < 0 || log == NULL || getpid() != g_pid) return;
  char text[32];
  const int bytes = snprintf(text, sizeof(text), "%ld\n", g_made);
  g_failing = -1;
  const int file = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return;
  if (write(file, text, (size_t)bytes) != bytes) abort();
  close(file);
}

static int Fails(void) {
  if (g_failing < 0 || atomic_fetch_add(&g_made, 1) + 1 != g_failing) {
    return 0;
  }
  errno = ENOMEM;
  return 1;
}

void* malloc(size_t bytes) { return Fails() ? NULL : __libc_malloc(bytes); }

void* calloc(size_t count, size_t bytes) {
  return Fails() ? NULL : __libc_calloc(count, bytes);
}

void* realloc(void* old, size_t bytes) {
  return Fails() ? NULL : __libc_realloc(old, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes) {
  return Fails() ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void** to, size_t alignment, size_t bytes) {
  if (Fails()) return ENOMEM;
  *to = __libc_memalign(alignment, bytes);
  return *to == NULL ? ENOMEM : 0;
}
