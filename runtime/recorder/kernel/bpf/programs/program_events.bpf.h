// Which file a process executes: for the recorder, which reports programs with
// hooks that did not join.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_PROGRAM_EVENTS_BPF_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_PROGRAM_EVENTS_BPF_H_

#include "runtime/recorder/kernel/bpf/programs/marked_processes.bpf.h"
#include "runtime/recorder/kernel/bpf/programs/ring_writer.bpf.h"
#include "runtime/recorder/kernel/bpf/programs/thread_ids.bpf.h"

// Set by the recorder while it reads the rings seldom: what becomes of a
// program is in /proc and in files that may be gone when it looks.
__u32 wakes_recorder = 0;

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 4096);
} wake_ring SEC(".maps");

static __always_inline void wake_recorder(void) {
  if (!wakes_recorder) return;
  wakes_recorder = 0;
  const __u64 nothing = 0;
  bpf_ringbuf_output(&wake_ring, (void*)&nothing, sizeof(nothing),
                     BPF_RB_FORCE_WAKEUP);
}

// The process of `task` executes `binary`. No record of the trace.
static __always_inline void program_event(struct task_struct* task,
                                          struct linux_binprm* binary) {
  struct countrace_ring_control* control = this_control();
  if (!is_recording(control) || !is_counted(pid_of(task))) return;
  const struct pid* of = BPF_CORE_READ(task, signal, pids[PIDTYPE_TGID]);
  const struct upid own = number_at(of, BPF_CORE_READ(of, level));
  __u64 now = 0;
  __u32* record = (__u32*)reserve(control, COUNTRACE_PROGRAM_BYTES, &now);
  if (!record) return;
  record[2] = pid_of(task);
  record[3] = own.nr;
  record[4] = BPF_CORE_READ(own.ns, ns.inum);
  record[5] = pid_of(task->real_parent);
  ((__u64*)record)[3] = BPF_CORE_READ(binary, file, f_inode, i_ino);
  // The interpreter of a script, as the file is.
  bpf_probe_read_kernel_str(record + 8, COUNTRACE_PROGRAM_PATH_BYTES,
                            BPF_CORE_READ(binary, interp));
  commit((__u64*)record, COUNTRACE_EVENT_PROGRAM, now);
  wake_recorder();
}

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_PROGRAM_EVENTS_BPF_H_
