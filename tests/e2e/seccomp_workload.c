/* Calls a hook before and after a seccomp filter that allows nothing else.
 *
 *   seccomp_workload MODE CALLS
 *
 * MODE: filter, filter-by-number, refused, strict, every-thread, later-threads,
 * child. A call that the filter does not allow kills the process. */
#define _GNU_SOURCE
#include <countrace/hooks.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static long g_calls;

static void work(long calls) {
  for (long i = 0; i < calls; ++i) {
    COUNTRACE_ENTER("confined", "call");
    COUNTRACE_EXIT("confined", "call");
  }
}

static void* work_in_thread(void* argument) {
  work(g_calls);
  return argument;
}

#define ALLOW(number)                                  \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), \
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static struct sock_filter g_nothing[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(SYS_write),
    ALLOW(SYS_exit),
    ALLOW(SYS_exit_group),
    ALLOW(SYS_rt_sigreturn),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};

/* What pthread_create and pthread_join of the C library need. */
static struct sock_filter g_threads[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(SYS_write),
    ALLOW(SYS_exit),
    ALLOW(SYS_exit_group),
    ALLOW(SYS_clone),
    ALLOW(SYS_clone3),
    ALLOW(SYS_set_robust_list),
#ifdef SYS_rseq
    ALLOW(SYS_rseq),
#endif
    ALLOW(SYS_mmap),
    ALLOW(SYS_munmap),
    ALLOW(SYS_mprotect),
    ALLOW(SYS_madvise),
    ALLOW(SYS_brk),
    ALLOW(SYS_getrandom),
    ALLOW(SYS_rt_sigaction),
    ALLOW(SYS_rt_sigprocmask),
    ALLOW(SYS_futex),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};

static const struct sock_fprog g_no_calls = {
    sizeof(g_nothing) / sizeof(g_nothing[0]), g_nothing};
static const struct sock_fprog g_thread_calls = {
    sizeof(g_threads) / sizeof(g_threads[0]), g_threads};

static void require(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  exit(2);
}

static void say(const char* text) {
  if (write(1, text, strlen(text)) < 0) _exit(2);
}

static void filter(const struct sock_fprog* program) {
  require(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program) == 0, "prctl");
}

static int run(const char* mode) {
  if (strcmp(mode, "filter") == 0) {
    filter(&g_no_calls);
  } else if (strcmp(mode, "filter-by-number") == 0) {
    require(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &g_no_calls) == 0,
            "seccomp");
  } else if (strcmp(mode, "refused") == 0) {
    errno = 0;
    require(
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, ~0u, &g_no_calls) == -1 &&
            errno == EINVAL,
        "refused");
  } else if (strcmp(mode, "strict") == 0) {
    require(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0, "strict");
    work(g_calls);
    say("done\n");
    syscall(SYS_exit, 7);
  } else if (strcmp(mode, "every-thread") == 0) {
    pthread_t thread;
    require(pthread_create(&thread, NULL, &work_in_thread, NULL) == 0,
            "pthread_create");
    require(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                    SECCOMP_FILTER_FLAG_TSYNC, &g_thread_calls) == 0,
            "seccomp for all");
    pthread_join(thread, NULL);
  } else if (strcmp(mode, "later-threads") == 0) {
    pthread_t thread[3];
    filter(&g_thread_calls);
    for (int i = 0; i < 3; ++i) {
      require(pthread_create(&thread[i], NULL, &work_in_thread, NULL) == 0,
              "pthread_create");
    }
    for (int i = 0; i < 3; ++i) pthread_join(thread[i], NULL);
  } else if (strcmp(mode, "child") == 0) {
    const pid_t child = fork();
    int status = 0;
    if (child == 0) {
      work(10);
      filter(&g_no_calls);
      work(g_calls);
      _exit(5);
    }
    require(waitpid(child, &status, 0) == child, "waitpid");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 5) return 3;
  } else {
    return 2;
  }
  work(g_calls);
  say("done\n");
  return 7;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  g_calls = atol(argv[2]);
  require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
  work(10);
  return run(argv[1]);
}
