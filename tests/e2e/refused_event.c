// Runs a program for which the kernel refuses one perf event, as it refuses the
// events of some PMUs, which a machine may have or not:
//   refused_event TYPE CONFIG process|member|always COMMAND [ARGUMENTS...]
//     process: where it counts a process or a cgroup, not a CPU
//     member: in a group of another event
// perf_event_open() of it is EINVAL. All else is as without this program.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void Die(const char* what) {
  perror(what);
  exit(125);
}

// Returns: the descriptor at which perf_event_open() is reported.
static int InstallFilter(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                      SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
}

static int IsRefused(const struct seccomp_notif* call, char** arguments) {
  struct perf_event_attr attr;
  struct iovec here = {&attr, offsetof(struct perf_event_attr, sample_period)};
  struct iovec there = {(void*)(uintptr_t)call->data.args[0], here.iov_len};
  if (process_vm_readv((pid_t)call->pid, &here, 1, &there, 1, 0) < 0) return 0;
  if (attr.type != strtoul(arguments[1], NULL, 0) ||
      attr.config != strtoull(arguments[2], NULL, 0)) {
    return 0;
  }
  if (strcmp(arguments[3], "process") == 0) {
    return (int)call->data.args[1] >= 0;
  }
  if (strcmp(arguments[3], "member") == 0) {
    return (int)call->data.args[3] >= 0;
  }
  return 1;
}

static void Answer(int listener, char** arguments) {
  struct seccomp_notif call = {0};
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) return;
  struct seccomp_notif_resp answer = {
      .id = call.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
  if (IsRefused(&call, arguments)) {
    answer.flags = 0;
    answer.error = -EINVAL;
  }
  ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

int main(int argc, char** argv) {
  if (argc < 5) return 125;
  int number[2], go[2];
  if (pipe(number) != 0 || pipe(go) != 0) Die("pipe");
  const pid_t child = fork();
  if (child < 0) Die("fork");
  if (child == 0) {
    const int listener = InstallFilter();
    char byte = 0;
    close(go[1]);
    if (write(number[1], &listener, sizeof(listener)) < 0 ||
        read(go[0], &byte, 1) != 0) {
      Die("pipe");
    }
    close(number[0]);
    close(number[1]);
    close(go[0]);
    execvp(argv[4], argv + 4);
    Die(argv[4]);
  }
  int theirs = -1;
  close(number[1]);
  close(go[0]);
  if (read(number[0], &theirs, sizeof(theirs)) != sizeof(theirs)) Die("read");
  const int process = (int)syscall(SYS_pidfd_open, child, 0);
  const int listener = (int)syscall(SYS_pidfd_getfd, process, theirs, 0);
  if (listener < 0) Die("listener");
  close(go[1]);
  signal(SIGINT, SIG_IGN);
  for (;;) {
    struct pollfd set[] = {{listener, POLLIN, 0}, {process, POLLIN, 0}};
    if (poll(set, 2, -1) < 0) continue;
    if (set[0].revents & POLLIN) Answer(listener, argv);
    if (set[1].revents == 0) continue;
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
}
