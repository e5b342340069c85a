// Which processes are recorded when not all are: marks, inherited at fork, kept
// over exec (POWER2: MSR(PM)). Filters the records of kernel hooks; dispatches
// are filtered by the recorder, which needs those of the others for idle time.
#ifndef COUNTRACE_RUNTIME_RECORDER_BPF_MARKED_PROCESSES_BPF_H_
#define COUNTRACE_RUNTIME_RECORDER_BPF_MARKED_PROCESSES_BPF_H_

#include "ring_writer.bpf.h"

// Set before the programs are loaded. 0: everybody is recorded.
const volatile __u32 only_marked = 0;

// Keys: pids. As many as there can be on a machine with default limits; one
// that finds no room is counted.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 65536);
  __type(key, __u32);
  __type(value, __u8);
} marked_processes SEC(".maps");

__u64 marks_refused = 0;

static __always_inline int is_marked(__u32 pid) {
  return !only_marked || bpf_map_lookup_elem(&marked_processes, &pid) != 0;
}

static __always_inline void inherit_mark(const struct task_struct* parent,
                                         const struct task_struct* child) {
  if (!only_marked || child->tgid == parent->tgid) return;
  const __u32 from = parent->tgid;
  const __u32 to = child->tgid;
  const __u8 mark = 1;
  if (!bpf_map_lookup_elem(&marked_processes, &from)) return;
  if (bpf_map_update_elem(&marked_processes, &to, &mark, BPF_ANY) != 0) {
    __sync_fetch_and_add(&marks_refused, 1);
  }
}

// With the process's last thread: its pid may soon be somebody else's.
static __always_inline void drop_mark(const struct task_struct* task) {
  if (!only_marked || task->signal->live.counter != 0) return;
  const __u32 pid = task->tgid;
  bpf_map_delete_elem(&marked_processes, &pid);
}

#endif  // COUNTRACE_RUNTIME_RECORDER_BPF_MARKED_PROCESSES_BPF_H_
