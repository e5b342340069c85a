// Dispatches with counters, forks, execs, names, exits and page faults. Kernel
// 6.1 and later (sched_switch has prev_state since 5.18).
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_SCHED_EVENTS_BPF_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_SCHED_EVENTS_BPF_H_

#include "runtime/recorder/kernel/bpf/programs/call_arguments.bpf.h"
#include "runtime/recorder/kernel/bpf/programs/dump_rules.bpf.h"
#include "runtime/recorder/kernel/bpf/programs/hidden_switches.bpf.h"
#include "runtime/recorder/kernel/bpf/programs/interrupt_context.bpf.h"
#include "runtime/recorder/kernel/bpf/programs/marked_processes.bpf.h"
#include "runtime/recorder/kernel/bpf/programs/off_cpu.bpf.h"
#include "runtime/recorder/kernel/bpf/programs/owner_events.bpf.h"
#include "runtime/recorder/kernel/bpf/programs/program_events.bpf.h"
#include "runtime/recorder/kernel/bpf/programs/ring_writer.bpf.h"

enum {
  REASON_END = 1,
  REASON_SET_END = 3,
  REASON_SET_BEGIN = 4,
  REASON_SNAPSHOT = 5,
  REASON_WAIT = COUNTRACE_REASON_WAIT
};

// The mask is 0 if there are others than the first 64.
const volatile __u32 possible_cpus = 0;
const volatile __u64 recorded_cpus = 0;

// Whether any quota may stop `task` in a way that is_throttled() does not show:
// before 6.18, while it waits.
static __always_inline int may_be_stopped(const struct task_struct* task) {
  if (task->prio < 100) return 1;
  if (bpf_core_field_exists(task->throttled) ||
      !bpf_core_field_exists(task->se.cfs_rq->runtime_enabled))
    return 0;
  const struct sched_entity* entity = &task->se;
#pragma unroll
  for (int level = 0; level < 8; ++level) {
    if (entity->cfs_rq->runtime_enabled) return 1;
    entity = entity->parent;
    if (!entity) return 0;
  }
  return 1;
}

// Whether the scheduler may run `task` on every recorded CPU.
static __always_inline int may_use_any_cpu(const struct task_struct* task) {
  if (!bpf_core_field_exists(task->migration_disabled) ||
      task->migration_disabled || may_be_stopped(task)) {
    return 0;
  }
  return (__u32)task->nr_cpus_allowed >= possible_cpus ||
         (recorded_cpus &&
          (task->cpus_mask.bits[0] & recorded_cpus) == recorded_cpus);
}

// Returns prev_state as the tracepoint prints it
// (include/trace/events/sched.h), and 0x300 of a throttled thread.
static __always_inline __u64 switch_state(int preempt, __u32 prev_state,
                                          const struct task_struct* prev) {
  if ((preempt || !prev_state) && is_throttled(prev)) return 0x300;
  if (preempt) return 0x100;
  if ((prev_state & 0x402) == 0x402) return 0x80;  // TASK_IDLE
  return (prev_state | prev->exit_state) & 0x7f;
}

// Threads (their host's ids) of other pid namespaces that a record has named:
// the recorder's /proc does not show them.
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 8192);
  __type(key, __u32);
  __type(value, __u8);
} named_outside SEC(".maps");

static __always_inline void write_comm(struct countrace_ring_control* control,
                                       __u16 event, struct task_struct* task,
                                       const char* comm) {
  __u64 now = 0;
  __u32* record = (__u32*)reserve(control, 32, &now);
  if (!record) return;
  record[2] = pid_of(task);
  record[3] = tid_of(task);
  // Zero after the NUL: the kernel's buffer may hold old bytes there.
  record[4] = record[5] = record[6] = record[7] = 0;
  bpf_probe_read_kernel_str(record + 4, 16, comm);
  commit((__u64*)record, event, now);
}

static __always_inline int comm_event(__u16 event, struct task_struct* task,
                                      const char* comm) {
  struct countrace_ring_control* control = this_control();
  if (!is_recording(control)) return 0;
  note_who_runs(control);
  write_comm(control, event, task, comm);
  return 0;
}

// Records the name of `next`, which was switched in, where no other record has
// it.
static __always_inline void name_if_outside(
    struct countrace_ring_control* control, struct task_struct* next) {
  const __u32 host = next->pid;
  if (!pid_level || !(control->tid & COUNTRACE_OUTSIDE_NAMESPACE) ||
      bpf_map_lookup_elem(&named_outside, &host)) {
    return;
  }
  const __u8 named = 1;
  bpf_map_update_elem(&named_outside, &host, &named, BPF_ANY);
  write_comm(control, EVENT_COMM, next, next->comm);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, _Bool preempt, struct task_struct* prev,
             struct task_struct* next, unsigned int prev_state) {
  struct countrace_ring_control* control = this_control();
  if (!is_recording(control)) return 0;
  mark_if_owned(prev);
  const __u64 now = bpf_ktime_get_ns();
  compare_clocks(control, prev, now);
  if (any_hidden) settle_hidden_dispatch(next);
  if (control->task && control->task != (__u64)prev) {
    note_hidden_switch(control, prev, now);
  }
  add_run_time(control, prev, now);
  // A thread that has ended has no number any more.
  const __u32 left =
      pid_level && control->task == (__u64)prev ? control->tid : tid_of(prev);
  note_switch_in(control, next, now);
  __u64* record = reserve_known(control, 16 + 8 * counter_count, now);
  if (record) {
    record[1] = ((__u64)left & 0xffffff) |
                ((__u64)control->tid & 0xffffff) << 24 |
                (switch_state(preempt, prev_state, prev) |
                 may_use_any_cpu(prev) << 10 | may_use_any_cpu(next) << 11)
                    << 48;
    store_counters(control, record + 2, now);
    commit(record, EVENT_DISPATCH, now);
  }
  ++control->switches;
  name_if_outside(control, next);
  leave_cpu(ctx, prev, left, prev_state, now);
  return_to_cpu(next, now);
  return 0;
}

// Whether wake-ups are recorded.
const volatile __u8 records_wakeups = 0;

static __always_inline int wakeup_event(const struct task_struct* wakee) {
  struct countrace_ring_control* control = this_control();
  if (!is_recording(control) || !records_wakeups) return 0;
  note_who_runs(control);
  // A sleeping thread cannot wake itself: the same number says an interrupt.
  const int interrupt = in_interrupt();
  const __u64 waker = interrupt ? tid_of(wakee) : current_ids();
  if ((interrupt || !is_counted(waker >> 32)) && !is_counted(pid_of(wakee))) {
    return 0;
  }
  __u64 now = 0;
  __u64* record = reserve(control, 16, &now);
  if (!record) return 0;
  record[1] = (waker & 0xffffff) | ((__u64)tid_of(wakee) & 0xffffff) << 24 |
              (__u64)(wakee->wake_cpu & 0xffff) << 48;
  commit(record, EVENT_WAKEUP, now);
  return 0;
}

// Runs in the waker's context; sched_wakeup may run on the wakee's CPU.
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct* wakee) {
  waker_stack(ctx, wakee);
  return wakeup_event(wakee);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct* wakee) {
  wait_for_first_cpu(ctx, wakee);
  return wakeup_event(wakee);
}

static __always_inline int task_event(__u16 event, struct task_struct* task,
                                      struct task_struct* parent) {
  struct countrace_ring_control* control = this_control();
  if (!is_recording(control)) return 0;
  note_who_runs(control);
  __u64 now = 0;
  __u32* record = (__u32*)reserve(control, 24, &now);
  if (!record) return 0;
  record[2] = pid_of(task);
  record[3] = tid_of(task);
  record[4] = pid_of(parent);
  record[5] = tid_of(parent);
  commit((__u64*)record, event, now);
  return 0;
}

// Runs in the thread that makes `child`. sched_process_fork lacks the threads
// that the kernel makes for a process: workers of io_uring and vhost.
SEC("tp_btf/task_newtask")
int BPF_PROG(on_fork, struct task_struct* child) {
  if (!child->pid) return 0;  // the idle thread of a CPU that is added
  struct task_struct* parent = bpf_get_current_task_btf();
  mark_if_owned(parent);
  inherit_mark(parent, child);
  forget_rules_of(tid_of(child));
  forget_unread(tid_of(child));
  forget_off_cpu(child);
  struct countrace_ring_control* control = this_control();
  if (is_recording(control)) thread_ids_event(control, child);
  task_event(EVENT_FORK, child, parent);
  if (child->pid == child->tgid) owner_event(child, 1);
  return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct* task) {
  // With its last thread.
  if (task->signal->live.counter == 0) owner_event(task, 0);
  drop_mark(task);
  forget_rules_of(tid_of(task));
  forget_unread(tid_of(task));
  return task_event(EVENT_EXIT, task, task->real_parent);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct* task, int old_pid,
             struct linux_binprm* binary) {
  // A thread that is not the first one takes over the first one's tid.
  if (!pid_level && old_pid != task->pid) forget_rules_of(old_pid);
  struct countrace_ring_control* control = this_control();
  if (control && control->task == (__u64)task) {
    control->tid = tid_of(task);
    control->host_tid = task->pid;
  }
  if (starting_pid && starting_pid == pid_of(task)) starting_pid = 0;
  mark_if_named(task, task->comm);
  mark_if_owned(task);
  comm_event(EVENT_EXEC, task, task->comm);
  owner_event(task, 0);
  program_event(task, binary);
  return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct* task, const char* comm) {
  // An exec record carries the name itself.
  if (bpf_core_field_exists(task->in_execve) &&
      BPF_CORE_READ_BITFIELD(task, in_execve)) {
    return 0;
  }
  // Another process may rename it, too (/proc/PID/comm).
  if (task->tgid == (int)(bpf_get_current_pid_tgid() >> 32)) {
    mark_if_named(task, comm);
  }
  return comm_event(EVENT_COMM, task, comm);
}

// Attached to a software page-faults event with period 1 on each CPU.
SEC("perf_event")
int on_fault(struct bpf_perf_event_data* data) {
  struct countrace_ring_control* control = this_control();
  if (!is_recording(control)) return 0;
  note_who_runs(control);
  const __u64 ids = current_ids();
  __sync_fetch_and_add(&control->faults, 1);
  if (!is_counted(ids >> 32)) return 0;
  __u64 now = 0;
  __u64* record = reserve(control, 24, &now);
  if (!record) return 0;
  record[1] = ids >> 32 | ids << 32;  // pid, tid
  record[2] = data->addr;
  commit(record, EVENT_FAULT, now);
  return 0;
}

// Run on each CPU when the recording begins and ends there (BPF_PROG_TEST_RUN):
// nothing is recorded before the first dump or after the last. Also run before
// and after a rotation of event sets, and for a snapshot.
SEC("raw_tp")
int dump_counters(__u64* request) {
  struct countrace_ring_control* control = this_control();
  if (!control || control->ended) return 0;
  const __u64 reason = request[0];
  if (reason == REASON_WAIT) return 0;
  const __u64 now = bpf_ktime_get_ns();
  if (!control->begin_ns) {
    const struct task_struct* task =
        (struct task_struct*)bpf_get_current_task();
    control->task = (__u64)task;
    control->tid = (__u32)current_ids();
    control->host_tid = (__u32)bpf_get_current_pid_tgid();
    bpf_core_read(&control->runtime_ns, sizeof(control->runtime_ns),
                  &task->se.sum_exec_runtime);
    control->switched_in_ns = now;
    control->begin_ns = now;
  } else if ((has_sets || reason >= REASON_SNAPSHOT) &&
             control->task != bpf_get_current_task()) {
    // This dump would reveal a thread other than the one switched in last.
    struct task_struct* task = bpf_get_current_task_btf();
    note_hidden_switch(control, task, now);
    note_running(control, task, now);
  }
  if (reason == REASON_END || reason == REASON_SNAPSHOT) {
    add_run_time_so_far(control, now);
  }
  if (has_sets && reason == REASON_SET_BEGIN) control->set = request[1];
  __u32* record = (__u32*)reserve_known(control, 16 + 8 * counter_count, now);
  if (record) {
    record[2] = reason;
    record[3] = (__u32)current_ids();
    store_counters(control, (__u64*)(record + 4), now);
    commit((__u64*)record, EVENT_COUNTERS, now);
  }
  if (has_sets && reason == REASON_SET_END) {
    control->set = request[1] | COUNTRACE_SET_WAITS;
  }
  if (reason == REASON_END) control->ended = 1;
  return 0;
}

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_SCHED_EVENTS_BPF_H_
