// Page touches, processes and switches in known numbers, for `countrace stat`.
// Static, so that no dynamic linker adds faults of its own.
//
//   stat_workload touch PAGES            touches fresh pages
//   stat_workload forks N PAGES          N children touch them, in turn
//   stat_workload orphans N PAGES        the same, but their parents have ended
//   stat_workload execs N PAGES          N children that exec `touch PAGES`
//   stat_workload threads N PAGES        N threads
//   stat_workload spin MS                computes; prints its CPU time in ns
//   stat_workload modes MS               two threads, the second in system
//                                        calls; prints of each its tid, and its
//                                        user and system time in us
//   stat_workload strays MS              the same of two processes without a
//                                        parent that waits
//   stat_workload sleep N                sleeps N times; prints its switches,
//                                        voluntary and involuntary
#define _GNU_SOURCE  // RUSAGE_THREAD
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void Touch(long pages) {
  if (pages == 0) return;
  const size_t bytes = (size_t)pages * 4096;
  char* const memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) exit(1);
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  for (long i = 0; i < pages; ++i) ((volatile char*)memory)[i * 4096] = 1;
}

static void* TouchInThread(void* pages) {
  Touch(*(long*)pages);
  return NULL;
}

static long long CpuTimeNs(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static long long ThreadTimeNs(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static long milliseconds;

static void PrintModes(void) {
  struct rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  printf("%ld %lld %lld\n", (long)syscall(SYS_gettid),
         usage.ru_utime.tv_sec * 1000000LL + usage.ru_utime.tv_usec,
         usage.ru_stime.tv_sec * 1000000LL + usage.ru_stime.tv_usec);
}

static void* Compute(void* none) {
  volatile unsigned long sum = 0;
  while (ThreadTimeNs() < milliseconds * 1000000LL) {
    for (long i = 0; i < 300000; ++i) sum = sum * 3 + 1;
  }
  PrintModes();
  return none;
}

static void* CallSystem(void* none) {
  static char zeros[1 << 20];
  const int file = open("/dev/zero", O_RDONLY);
  while (ThreadTimeNs() < milliseconds * 1000000LL) {
    if (read(file, zeros, sizeof(zeros)) != sizeof(zeros)) exit(1);
  }
  PrintModes();
  return none;
}

// Runs `work` in `count` grandchildren, whose parents have ended; returns when
// they have: each pipe end that a grandchild holds is closed by its end.
static void Orphans(long count, void (*work)(long index, long argument),
                    long argument) {
  int ends[2];
  if (pipe(ends) != 0) exit(1);
  for (long i = 0; i < count; ++i) {
    const pid_t parent = fork();
    if (parent == 0) {
      const pid_t parent_pid = getpid();
      if (fork() == 0) {
        while (getppid() == parent_pid) usleep(100);
        work(i, argument);
        fflush(stdout);
      }
      _exit(0);
    }
    waitpid(parent, NULL, 0);
  }
  close(ends[1]);
  char byte;
  while (read(ends[0], &byte, 1) > 0) {
  }
}

static void TouchAsOrphan(long index, long pages) {
  (void)index;
  Touch(pages);
}

static void ModeAsOrphan(long index, long ms) {
  milliseconds = ms;
  (index == 0 ? Compute : CallSystem)(NULL);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* const what = argv[1];
  const long count = atol(argv[2]);
  long pages = argc > 3 ? atol(argv[3]) : 0;
  if (strcmp(what, "touch") == 0) {
    Touch(count);
  } else if (strcmp(what, "modes") == 0) {
    milliseconds = count;
    pthread_t threads[2];
    if (pthread_create(&threads[0], NULL, Compute, NULL) != 0 ||
        pthread_create(&threads[1], NULL, CallSystem, NULL) != 0) {
      return 1;
    }
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  } else if (strcmp(what, "orphans") == 0) {
    Orphans(count, TouchAsOrphan, pages);
  } else if (strcmp(what, "strays") == 0) {
    Orphans(2, ModeAsOrphan, count);
  } else if (strcmp(what, "forks") == 0 || strcmp(what, "execs") == 0) {
    for (long i = 0; i < count; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        if (what[0] == 'e') {
          execl("/proc/self/exe", argv[0], "touch", argv[3], NULL);
          _exit(1);
        }
        Touch(pages);
        _exit(0);
      }
      waitpid(child, NULL, 0);
    }
  } else if (strcmp(what, "threads") == 0) {
    for (long i = 0; i < count; ++i) {
      pthread_t thread;
      if (pthread_create(&thread, NULL, TouchInThread, &pages) != 0) return 1;
      pthread_join(thread, NULL);
    }
  } else if (strcmp(what, "spin") == 0) {
    while (CpuTimeNs() < count * 1000000LL) {
    }
    printf("%lld\n", CpuTimeNs());
  } else if (strcmp(what, "sleep") == 0) {
    for (long i = 0; i < count; ++i) usleep(100);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%ld %ld\n", usage.ru_nvcsw, usage.ru_nivcsw);
  } else {
    return 2;
  }
  return 0;
}
