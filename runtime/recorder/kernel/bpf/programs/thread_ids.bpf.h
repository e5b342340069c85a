// The ids of threads and processes in records: those of the recorder's pid
// namespace, as its /proc, `-p` and the hooks of its programs have them.
//
// A thread outside that namespace has no number there: its host's number with
// COUNTRACE_OUTSIDE_NAMESPACE set, which no number of a thread has (numbers are
// below 2^22).
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_THREAD_IDS_BPF_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_THREAD_IDS_BPF_H_

#include "runtime/recorder/kernel/bpf/programs/ring_writer.bpf.h"

enum { PIDTYPE_TGID = 1 };

// The recorder's pid namespace. Level 0: the host's, where the kernel's numbers
// are used as they are.
__u32 pid_level = 0;
__u64 pid_namespace = 0;

static __always_inline struct upid number_at(const struct pid* of,
                                             __u32 level) {
  struct upid number = {};
  const char* numbers =
      (const char*)of + bpf_core_field_offset(struct pid, numbers);
  bpf_probe_read_kernel(&number, sizeof(number),
                        numbers + level * sizeof(struct upid));
  return number;
}

static __always_inline __u32 id_of(const struct pid* of, __u32 host) {
  __u32 level = 0;
  if (of) bpf_core_read(&level, sizeof(level), &of->level);
  if (!of || level < pid_level) return COUNTRACE_OUTSIDE_NAMESPACE | host;
  const struct upid number = number_at(of, pid_level);
  return (__u64)number.ns == pid_namespace ? (__u32)number.nr
                                           : COUNTRACE_OUTSIDE_NAMESPACE | host;
}

static __always_inline __u32 tid_of(const struct task_struct* task) {
  const __u32 host = task->pid;
  if (!pid_level || !host) return host;
  return id_of(BPF_CORE_READ(task, thread_pid), host);
}

static __always_inline __u32 pid_of(const struct task_struct* task) {
  const __u32 host = task->tgid;
  if (!pid_level || !host) return host;
  return id_of(BPF_CORE_READ(task, signal, pids[PIDTYPE_TGID]), host);
}

// As bpf_get_current_pid_tgid(): pid << 32 | tid.
static __always_inline __u64 current_ids(void) {
  if (!pid_level) return bpf_get_current_pid_tgid();
  const struct task_struct* task = bpf_get_current_task_btf();
  return (__u64)pid_of(task) << 32 | tid_of(task);
}

// `child` begins. In a namespace inside the recorder's, its hooks have its
// numbers there.
static __always_inline void thread_ids_event(
    struct countrace_ring_control* control, const struct task_struct* child) {
  const struct pid* of = BPF_CORE_READ(child, thread_pid);
  const struct pid* of_process =
      BPF_CORE_READ(child, signal, pids[PIDTYPE_TGID]);
  const __u32 level = BPF_CORE_READ(of, level);
  if (level <= pid_level || !of_process) return;
  const struct upid own = number_at(of, level);
  const struct upid own_process = number_at(of_process, level);
  __u64 now = 0;
  __u32* record = (__u32*)reserve(control, 32, &now);
  if (!record) return;
  record[2] = pid_of(child);
  record[3] = tid_of(child);
  record[4] = own_process.nr;
  record[5] = own.nr;
  record[6] = BPF_CORE_READ(own.ns, ns.inum);
  record[7] = 0;
  commit((__u64*)record, COUNTRACE_EVENT_THREAD_IDS, now);
}

// Run by the recorder before it records.
SEC("raw_tp")
int find_pid_namespace(void* context) {
  const struct task_struct* task =
      (const struct task_struct*)bpf_get_current_task();
  const struct pid* of = BPF_CORE_READ(task, thread_pid);
  const __u32 level = BPF_CORE_READ(of, level);
  const struct upid number = number_at(of, level);
  pid_namespace = (__u64)number.ns;
  pid_level = level;
  return 0;
}

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_THREAD_IDS_BPF_H_
