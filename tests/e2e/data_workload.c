// Touches pages of memory of every kind, each once, and prints how many.
//
// usage: data_workload FILE SCALE
// FILE is made, with pages that are mapped. Numbers of pages are multiples of
// SCALE. Output: JSON, pages of each kind; "range" is the anonymous memory.
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kPage = 4096, kMostScale = 40 };
enum {
  kTableA = 30,
  kTableB = 20,
  kHeap = 25,
  kAnonymous = 15,
  kFile = 10,
  kStack = 5,
  kThread = 8,
  kRead = 6,
  kChild = 4
};

// Zeros, which have no place in the file; and data that has one.
__attribute__((
    aligned(kPage))) volatile char table_a[kTableA * kMostScale * kPage];
__attribute__((
    aligned(kPage))) volatile char table_b[kTableB * kMostScale * kPage] = {1};

static int scale;

static void Touch(volatile char* memory, int pages) {
  for (int i = 0; i < pages; ++i) memory[(size_t)i * kPage] = 1;
}

__attribute__((noinline)) static void TouchStack(int pages) {
  volatile char* memory = __builtin_alloca((size_t)pages * kPage);
  // From above, as calls do.
  for (int i = pages - 1; i >= 0; --i) memory[(size_t)i * kPage] = 1;
}

static void* Run(void* unused) {
  (void)unused;
  TouchStack(kThread * scale);
  static long tid;
  tid = gettid();
  return &tid;
}

// Between two pages that are not accessible: it joins no other mapping.
static volatile char* Map(int pages) {
  char* memory = mmap(NULL, ((size_t)pages + 2) * kPage, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory + kPage, (size_t)pages * kPage,
                                       PROT_READ | PROT_WRITE) != 0) {
    perror("mmap");
    exit(1);
  }
  return memory + kPage;
}

int main(int argc, char** argv) {
  if (argc != 3 || (scale = atoi(argv[2])) < 1 || scale > kMostScale) return 2;
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);  // a fault is a page
  mallopt(M_MMAP_THRESHOLD, 1 << 30);     // malloc() takes from the heap
  const int file = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
  const size_t file_bytes = (size_t)kFile * (size_t)scale * kPage;
  if (file < 0 || ftruncate(file, (off_t)file_bytes) != 0) {
    perror(argv[1]);
    return 1;
  }
  volatile char* mapped =
      mmap(NULL, file_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  volatile char* anonymous = Map(kAnonymous * scale);
  volatile char* buffer = Map(kRead * scale);
  Touch(table_a, kTableA * scale);
  Touch(table_b, kTableB * scale);
  Touch(malloc((size_t)kHeap * (size_t)scale * kPage), kHeap * scale);
  Touch(anonymous, kAnonymous * scale);
  Touch(mapped, kFile * scale);
  TouchStack(kStack * scale);
  pthread_t thread;
  void* tid = NULL;
  if (pthread_create(&thread, NULL, Run, NULL) != 0 ||
      pthread_join(thread, &tid) != 0) {
    return 1;
  }
  // The kernel touches it.
  if (pread(file, (char*)buffer, (size_t)kRead * (size_t)scale * kPage, 0) !=
      (ssize_t)((size_t)kRead * (size_t)scale * kPage)) {
    perror("pread");
    return 1;
  }
  const pid_t child = fork();
  if (child == 0) {
    Touch(table_a, kChild * scale);  // copies of its parent's
    _exit(0);
  }
  waitpid(child, NULL, 0);
  printf(
      "{\"table_a\": %d, \"table_b\": %d, \"heap\": %d, \"anonymous\": %d, "
      "\"range\": \"%lx-%lx\", \"file\": %d, \"stack\": %d, \"thread\": %d, "
      "\"read\": %d, \"read_range\": \"%lx-%lx\", \"pid\": %d, "
      "\"tid\": %ld}\n",
      (kTableA + kChild) * scale, kTableB * scale, kHeap * scale,
      kAnonymous * scale, (unsigned long)anonymous,
      (unsigned long)anonymous + (unsigned long)(kAnonymous * scale) * kPage,
      kFile * scale, kStack * scale, kThread * scale, kRead * scale,
      (unsigned long)buffer,
      (unsigned long)buffer + (unsigned long)(kRead * scale) * kPage, getpid(),
      *(long*)tid);
  return 0;
}
