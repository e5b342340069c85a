/* Calls a hook, gives up access to the files that it had, and calls the hook
 * again from threads, or children, that start after that.
 *
 *   less_access_workload WAYS CALLS threads|forks|chain N FOLDER
 *
 * WAYS, separated by commas: user, user-by-number, group, capabilities, chroot,
 * mounts, pivot, user-namespace, landlock, close, pause, nothing. `threads`: N
 * threads make CALLS each; 0: the main thread does. `forks`: N children, one
 * after the other. `chain`: each child starts the next, N deep. FOLDER: an
 * empty one. Prints "done" and the ids that it has at the end. */
#define _GNU_SOURCE
#include <countrace/hooks.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kUnprivileged = 65534 };

static void* work(void* calls) {
  for (long i = *(long*)calls; i > 0; --i) {
    COUNTRACE_ENTER("less", "call");
    COUNTRACE_EXIT("less", "call");
  }
  return NULL;
}

static int drop_capabilities(void) {
  struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct none[2];
  memset(none, 0, sizeof(none));
  return (int)syscall(SYS_capset, &head, none);
}

static int cover_everything(const char* folder) {
  if (unshare(CLONE_NEWNS) != 0) return -1;
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return -1;
  return mount("none", folder, "tmpfs", 0, NULL);
}

static int pivot(const char* folder) {
  char old[4096];
  snprintf(old, sizeof(old), "%s/old", folder);
  if (cover_everything(folder) != 0 || mkdir(old, 0700) != 0) return -1;
  if (syscall(SYS_pivot_root, folder, old) != 0 || chdir("/") != 0) return -1;
  return umount2("/old", MNT_DETACH);
}

static int confine_files(void) {
  /* linux/landlock.h: all rights on files of its first version. */
  const unsigned long long handled = (1ULL << 13) - 1;
  const int rules =
      (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);
  if (rules < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return (int)syscall(SYS_landlock_restrict_self, rules, 0);
}

static int close_all(void) {
  for (int fd = 3; fd < 1024; ++fd) close(fd);
  return 0;
}

static int give_up(const char* way, const char* folder) {
  if (strcmp(way, "nothing") == 0) return 0;
  if (strcmp(way, "user") == 0) return setuid(kUnprivileged);
  if (strcmp(way, "user-by-number") == 0)
    return (int)syscall(SYS_setuid, kUnprivileged);
  if (strcmp(way, "group") == 0) return setgid(kUnprivileged);
  if (strcmp(way, "capabilities") == 0) return drop_capabilities();
  if (strcmp(way, "chroot") == 0) return chroot(folder) != 0 ? -1 : chdir("/");
  if (strcmp(way, "mounts") == 0) return cover_everything(folder);
  if (strcmp(way, "pivot") == 0) return pivot(folder);
  if (strcmp(way, "user-namespace") == 0) return unshare(CLONE_NEWUSER);
  if (strcmp(way, "landlock") == 0) return confine_files();
  if (strcmp(way, "close") == 0) return close_all();
  /* Longer than parameters of the clock hold (trace_clock.h). */
  if (strcmp(way, "pause") == 0) return usleep(150000);
  fprintf(stderr, "unknown way %s\n", way);
  return -1;
}

static int run_threads(long calls, int threads) {
  pthread_t thread[256];
  if (threads == 0) work(&calls);
  for (int i = 0; i < threads; ++i) {
    if (pthread_create(&thread[i], NULL, work, &calls) != 0) return 4;
  }
  for (int i = 0; i < threads; ++i) pthread_join(thread[i], NULL);
  return 0;
}

static int run_children(long calls, int children, int chain) {
  int status = 0;
  for (int i = 0; i < children; ++i) {
    const pid_t child = fork();
    if (child < 0) return 5;
    if (child == 0) {
      work(&calls);
      if (chain) return run_children(calls, children - 1, chain);
      exit(0);
    }
    if (waitpid(child, &status, 0) != child || status != 0) return 6;
    if (chain) break;
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  long calls = atol(argv[2]), one = 1;
  const int count = atoi(argv[4]);
  if (count < 0 || count > 256) return 2;
  const pid_t self = getpid();
  work(&one);
  for (char* way = strtok(argv[1], ","); way != NULL; way = strtok(NULL, ",")) {
    if (give_up(way, argv[5]) != 0) {
      perror(way);
      return 3;
    }
  }
  const int failed = strcmp(argv[3], "threads") == 0
                         ? run_threads(calls, count)
                         : run_children(calls, count, argv[3][0] == 'c');
  if (failed == 0 && getpid() == self) {
    printf("done %d %d\n", (int)geteuid(), (int)getegid());
  }
  return failed;
}
