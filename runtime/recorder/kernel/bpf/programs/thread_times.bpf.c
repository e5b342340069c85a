// User and system time of threads, as the kernel splits them: of those that run
// (an iterator), and of those that end.
#include "runtime/recorder/kernel/bpf/programs/thread_times.h"
// (the others need its types)
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), \
                             apply_to = record)
struct task_struct {
  int pid, tgid;
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

SEC("iter/task")
int running(struct bpf_iter__task* context) {
  struct task_struct* const task = context->task;
  if (!task) return 0;
  struct countrace_thread_times times = {
      .key = {.start_ns = task->start_time, .tid = task->pid},
      .user_ns = task->utime,
      .system_ns = task->stime};
  bpf_seq_write(context->meta->seq, &times, sizeof(times));
  return 0;
}

SEC("raw_tp/sched_process_exit")
int on_exit(struct bpf_raw_tracepoint_args* context) {
  const struct task_struct* const task =
      (const struct task_struct*)context->args[0];
  struct countrace_thread_times times = {};
  times.key.start_ns = BPF_CORE_READ(task, start_time);
  times.key.tid = BPF_CORE_READ(task, pid);
  times.user_ns = BPF_CORE_READ(task, utime);
  times.system_ns = BPF_CORE_READ(task, stime);
  bpf_map_update_elem(&ended, &times.key, &times, BPF_ANY);
  return 0;
}

char countrace_license[] SEC("license") = "Dual MIT/GPL";
