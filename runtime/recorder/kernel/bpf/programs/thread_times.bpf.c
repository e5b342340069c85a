// User and system time of threads, as the kernel splits them: of those that run
// (an iterator), and of those that end.
#include "runtime/recorder/kernel/bpf/programs/thread_times.h"
// (the others need its types)
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), \
                             apply_to = record)
struct task_struct {
  int pid, exit_state;
  unsigned long long utime, stime, start_time;
};
struct seq_file;
struct bpf_iter_meta {
  struct seq_file* seq;
};
struct bpf_iter__task {
  struct bpf_iter_meta* meta;
  struct task_struct* task;
};
#pragma clang attribute pop

// By thread. What finds no room is missing.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 64 * 1024);
  __type(key, struct countrace_thread_key);
  __type(value, struct countrace_thread_times);
} ended SEC(".maps");

static __always_inline struct countrace_thread_times times_of(
    const struct task_struct* task) {
  struct countrace_thread_times times = {
      .key = {.start_ns = task->start_time, .tid = task->pid},
      .user_ns = task->utime,
      .system_ns = task->stime};
  return times;
}

SEC("iter/task")
int running(struct bpf_iter__task* context) {
  struct task_struct* const task = context->task;
  if (!task) return 0;
  struct countrace_thread_times times = times_of(task);
  bpf_seq_write(context->meta->seq, &times, sizeof(times));
  return 0;
}

// A thread that has ended leaves its CPU for good: behind the freeing of its
// memory, which sched_process_exit is before since Linux 6.16.
SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, _Bool preempt, struct task_struct* task) {
  if (!task->exit_state) return 0;
  struct countrace_thread_times times = times_of(task);
  bpf_map_update_elem(&ended, &times.key, &times, BPF_ANY);
  return 0;
}

char countrace_license[] SEC("license") = "Dual MIT/GPL";
