/* Calls hooks, closes all its descriptors, uses the numbers for pipes, and
 * calls hooks again, from a thread that ends and from a child, too. Nothing of
 * the pipes may change.
 *
 *   closed_descriptors_workload closefrom|close_range|number|loop CALLS
 *   closed_descriptors_workload files FOLDER ROUNDS
 *
 * `number`: close_range(2) by syscall(2). `loop`: a call of close(2) for each;
 * leaves the highest numbers free. `files`: closes them and opens files, ROUNDS
 * times, while a thread calls hooks. Exit: 0 nothing changed, 4 something did,
 * as it prints. */
#define _GNU_SOURCE
#include <countrace/hooks.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kMost = 64, kFiles = 8 };

static int ends[kMost][2];
static int pipes;
static volatile int stop;

static void* work(void* calls) {
  for (long i = *(long*)calls; i > 0; --i) {
    COUNTRACE_ENTER("closed", "call");
    COUNTRACE_EXIT("closed", "call");
  }
  return NULL;
}

static void close_all(const char* way) {
  if (strcmp(way, "closefrom") == 0) {
    closefrom(3);
  } else if (strcmp(way, "close_range") == 0) {
    close_range(3, ~0u, 0);
  } else if (strcmp(way, "number") == 0) {
    syscall(SYS_close_range, 3, ~0u, 0);
  } else {
    for (int fd = 3; fd < kMost; ++fd) close(fd);
  }
}

static void fill(int most) {
  char word[8] = "unread.";
  for (pipes = 0; pipes < most && pipe(ends[pipes]) == 0; ++pipes) {
    if (write(ends[pipes][1], word, sizeof(word)) != sizeof(word)) exit(3);
  }
}

static int check(const char* who) {
  char word[16];
  int changed = 0;
  for (int i = 0; i < pipes; ++i) {
    struct stat first, second;
    if (fstat(ends[i][0], &first) != 0 || fstat(ends[i][1], &second) != 0 ||
        first.st_ino != second.st_ino) {
      printf("%s: pipe %d is closed\n", who, i);
      changed = 4;
    } else if (fcntl(ends[i][0], F_SETFL, O_NONBLOCK) != 0 ||
               read(ends[i][0], word, sizeof(word)) != 8) {
      printf("%s: pipe %d was read\n", who, i);
      changed = 4;
    } else if (write(ends[i][1], word, 8) != 8) {
      changed = 4;
    }
  }
  return changed;
}

static int pipes_stay(const char* way, long calls) {
  const struct rlimit few = {kMost, kMost};
  pthread_t thread;
  int status = 0;
  setrlimit(RLIMIT_NOFILE, &few);
  work(&calls);
  close_all(way);
  fill(strcmp(way, "loop") == 0 ? kMost / 4 : kMost);
  work(&calls);
  if (check("itself") != 0) return 4;
  if (pthread_create(&thread, NULL, work, &calls) != 0) return 3;
  pthread_join(thread, NULL);
  if (check("after a thread") != 0) return 4;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    work(&calls);
    exit(check("child"));
  }
  waitpid(child, &status, 0);
  return status != 0 ? 4 : check("after a child");
}

static void* call_hooks(void* unused) {
  const struct timespec pause = {0, 100000};
  long calls = 2000;
  while (!stop) {
    work(&calls);
    nanosleep(&pause, NULL);
  }
  return unused;
}

static int files_stay(const char* folder, int rounds) {
  pthread_t thread;
  char path[4096], text[64];
  int changed = 0;
  if (pthread_create(&thread, NULL, call_hooks, NULL) != 0) return 3;
  for (int round = 0; round < rounds && changed == 0; ++round) {
    int files[kFiles];
    closefrom(3);
    for (int i = 0; i < kFiles; ++i) {
      snprintf(path, sizeof(path), "%s/%d", folder, i);
      files[i] = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
      if (files[i] < 0 || write(files[i], "text of a file", 14) != 14) return 3;
    }
    const struct timespec pause = {0, 500000};
    nanosleep(&pause, NULL);
    for (int i = 0; i < kFiles; ++i) {
      if (pread(files[i], text, sizeof(text), 0) != 14 ||
          memcmp(text, "text of a file", 14) != 0) {
        printf("round %d: file %d: %s\n", round, i, strerror(errno));
        changed = 4;
      }
    }
  }
  stop = 1;
  pthread_join(thread, NULL);
  return changed;
}

int main(int argc, char** argv) {
  if (argc == 4 && strcmp(argv[1], "files") == 0) {
    return files_stay(argv[2], atoi(argv[3]));
  }
  if (argc != 3) return 2;
  const int changed = pipes_stay(argv[1], atol(argv[2]));
  if (changed == 0) printf("%d pipes\n", pipes);
  return changed;
}
