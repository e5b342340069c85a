// Preloaded: of the program named FAILING_PROGRAM the FAILING_NUMBER-th call of
// FAILING_CALL fails ("allocation", or one of the table below), others succeed.
// FAILING_NUMBER=0 fails none. When the program exits, FAILING_LOG gets the
// number of those calls.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void* __libc_malloc(size_t bytes);
extern void* __libc_calloc(size_t count, size_t bytes);
extern void* __libc_realloc(void* old, size_t bytes);
extern void* __libc_memalign(size_t alignment, size_t bytes);

// System calls that a library makes through libc's functions of the same name
// or through syscall().
static const struct {
  const char* name;
  long number;
  int error;
} kCalls[] = {
    {"open", SYS_openat, EMFILE},
    {"mmap", SYS_mmap, ENOMEM},
    {"pwrite", SYS_pwrite64, ENOSPC},
    {"pwritev", SYS_pwritev, ENOSPC},
    {"ftruncate", SYS_ftruncate, EFBIG},
    {"fallocate", SYS_fallocate, ENOSPC},
    {"fstat", SYS_newfstatat, ENOMEM},
    {"clone", SYS_clone, EAGAIN},
    {"perf_event_open", SYS_perf_event_open, EMFILE},
};

static atomic_long g_made;
static long g_failing = -1;  // -1: this is another program
static long g_call = -1;     // -1: allocations
static int g_error = ENOMEM;
static pid_t g_pid;

__attribute__((constructor)) static void Begin(void) {
  const char* const program = getenv("FAILING_PROGRAM");
  const char* const number = getenv("FAILING_NUMBER");
  const char* const call = getenv("FAILING_CALL");
  if (program == NULL || number == NULL || call == NULL ||
      strcmp(program, program_invocation_short_name) != 0) {
    return;
  }
  for (size_t i = 0; i < sizeof(kCalls) / sizeof(kCalls[0]); ++i) {
    if (strcmp(call, kCalls[i].name) != 0) continue;
    g_call = kCalls[i].number;
    g_error = kCalls[i].error;
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

static int Fails(long call) {
  if (g_failing < 0 || call != g_call ||
      atomic_fetch_add(&g_made, 1) + 1 != g_failing) {
    return 0;
  }
  errno = g_error;
  return 1;
}

void* malloc(size_t bytes) { return Fails(-1) ? NULL : __libc_malloc(bytes); }

void* calloc(size_t count, size_t bytes) {
  return Fails(-1) ? NULL : __libc_calloc(count, bytes);
}

void* realloc(void* old, size_t bytes) {
  return Fails(-1) ? NULL : __libc_realloc(old, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes) {
  return Fails(-1) ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void** to, size_t alignment, size_t bytes) {
  if (Fails(-1)) return ENOMEM;
  *to = __libc_memalign(alignment, bytes);
  return *to == NULL ? ENOMEM : 0;
}

static long (*Syscall(void))(long, ...) {
  static long (*next)(long, ...);
  if (next == NULL) next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  return next;
}

long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long a[6];
  for (int i = 0; i < 6; ++i) a[i] = va_arg(list, long);
  va_end(list);
  if (number >= 0 && Fails(number)) return -1;
  return Syscall()(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const int mode = va_arg(list, int);
  va_end(list);
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

void* mmap(void* at, size_t bytes, int rights, int flags, int file,
           off_t offset) {
  return (void*)syscall(SYS_mmap, at, bytes, rights, flags, file, offset);
}

ssize_t pwrite(int file, const void* from, size_t bytes, off_t offset) {
  return syscall(SYS_pwrite64, file, from, bytes, offset);
}

int ftruncate(int file, off_t bytes) {
  return (int)syscall(SYS_ftruncate, file, bytes);
}

int fstat(int file, struct stat* to) {
  return (int)syscall(SYS_newfstatat, file, "", to, AT_EMPTY_PATH);
}
