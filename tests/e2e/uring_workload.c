// Work that the kernel's own threads do for a process: io_uring's workers and
// its polling thread. Prints the pid and the CPU time of the process in us,
// with theirs (getrusage).
//
//   uring_workload async READS     reads of 64 MiB that workers make
//   uring_workload later READS     prints "ready", waits for a line, and counts
//                                  from there
//   uring_workload again READS     the same, but the workers exist by then
//   uring_workload sqpoll MS       a thread that polls for MS, and ends
//   uring_workload denied MS       a worker writes to an address where nothing
//                                  is; then it and the process compute for MS
//
// Exit status 77: this kernel has no io_uring, or not for this process.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { kEntries = 8, kReadBytes = 64 << 20 };

struct Ring {
  int fd;
  struct io_uring_params params;
  char *submissions, *completions;
  struct io_uring_sqe* entries;
};

static unsigned* In(char* ring, unsigned offset) {
  return (unsigned*)(ring + offset);
}

static void Fail(const char* what) {
  perror(what);
  exit(1);
}

static struct Ring Open(unsigned flags, unsigned idle_ms) {
  struct Ring ring;
  memset(&ring, 0, sizeof(ring));
  ring.params.flags = flags;
  ring.params.sq_thread_idle = idle_ms;
  ring.fd = (int)syscall(SYS_io_uring_setup, kEntries, &ring.params);
  if (ring.fd < 0) {
    if (errno != ENOSYS && errno != EPERM) Fail("io_uring_setup");
    printf("SKIPPED: io_uring_setup: %s\n", strerror(errno));
    exit(77);
  }
  const struct io_sqring_offsets* const sq = &ring.params.sq_off;
  const struct io_cqring_offsets* const cq = &ring.params.cq_off;
  ring.submissions =
      mmap(NULL, sq->array + kEntries * sizeof(unsigned),
           PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, IORING_OFF_SQ_RING);
  ring.completions = mmap(
      NULL, cq->cqes + ring.params.cq_entries * sizeof(struct io_uring_cqe),
      PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, IORING_OFF_CQ_RING);
  ring.entries =
      mmap(NULL, kEntries * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE,
           MAP_SHARED, ring.fd, IORING_OFF_SQES);
  if (ring.submissions == MAP_FAILED || ring.completions == MAP_FAILED ||
      ring.entries == MAP_FAILED) {
    Fail("mmap");
  }
  return ring;
}

// Submits `of`, and waits for its completion. Returns its result.
static int Do(struct Ring* ring, const struct io_uring_sqe* of) {
  const struct io_sqring_offsets* const sq = &ring->params.sq_off;
  const struct io_cqring_offsets* const cq = &ring->params.cq_off;
  const unsigned tail = *In(ring->submissions, sq->tail);
  const unsigned at = tail & *In(ring->submissions, sq->ring_mask);
  ring->entries[at] = *of;
  In(ring->submissions, sq->array)[at] = at;
  __atomic_store_n(In(ring->submissions, sq->tail), tail + 1, __ATOMIC_RELEASE);
  if (syscall(SYS_io_uring_enter, ring->fd, 1, 1,
              IORING_ENTER_GETEVENTS | IORING_ENTER_SQ_WAKEUP, NULL, 0) != 1) {
    Fail("io_uring_enter");
  }
  const unsigned head = *In(ring->completions, cq->head);
  if (head ==
      __atomic_load_n(In(ring->completions, cq->tail), __ATOMIC_ACQUIRE)) {
    Fail("no completion");
  }
  const struct io_uring_cqe* const done =
      (struct io_uring_cqe*)(ring->completions + cq->cqes) +
      (head & *In(ring->completions, cq->ring_mask));
  const int result = done->res;
  __atomic_store_n(In(ring->completions, cq->head), head + 1, __ATOMIC_RELEASE);
  return result;
}

// Reads in a worker.
static int Read(struct Ring* ring, int file, void* to, unsigned bytes) {
  struct io_uring_sqe entry;
  memset(&entry, 0, sizeof(entry));
  entry.opcode = IORING_OP_READ;
  entry.flags = IOSQE_ASYNC;
  entry.fd = file;
  entry.addr = (unsigned long)to;
  entry.len = bytes;
  return Do(ring, &entry);
}

static long long CpuUs(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000LL +
         usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

static void Reads(struct Ring* ring, int file, char* to, long times) {
  for (long i = 0; i < times; ++i) {
    if (Read(ring, file, to, kReadBytes) != kReadBytes) Fail("read");
  }
}

static void Compute(long ms) {
  const long long end = CpuUs() + ms * 1000;
  while (CpuUs() < end) {
    for (volatile int i = 0; i < 100000; ++i) {
    }
  }
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const char* const mode = argv[1];
  const long much = strtol(argv[2], NULL, 10);
  long long from_us = 0;
  if (strcmp(mode, "sqpoll") == 0) {
    struct Ring ring = Open(IORING_SETUP_SQPOLL, 10000);
    struct io_uring_sqe nothing;  // it polls after its first work
    memset(&nothing, 0, sizeof(nothing));
    if (Do(&ring, &nothing) != 0) Fail("nop");
    const struct timespec pause = {much / 1000, much % 1000 * 1000000};
    nanosleep(&pause, NULL);
    close(ring.fd);
  } else {
    struct Ring ring = Open(0, 0);
    const int file = memfd_create("read", 0);
    if (file < 0 || ftruncate(file, kReadBytes) != 0) Fail("memfd_create");
    char* const to = mmap(NULL, kReadBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (to == MAP_FAILED) Fail("mmap");
    if (strcmp(mode, "denied") == 0) {
      munmap(to, kReadBytes);
      if (Read(&ring, file, to, 4096) != -EFAULT) Fail("read");
      Compute(much);
    } else {
      const int again = strcmp(mode, "again") == 0;
      if (again) Reads(&ring, file, to, much);
      if (again || strcmp(mode, "later") == 0) {
        puts("ready");
        fflush(stdout);
        if (getchar() == EOF) return 1;
        from_us = CpuUs();
      }
      Reads(&ring, file, to, much);
    }
  }
  printf("pid %d cpu_us %lld\n", (int)getpid(), CpuUs() - from_us);
  return 0;
}
