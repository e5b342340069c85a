// Some kernels do not run tracepoints in certain processes (a sandbox's own
// agent): the switch-in of such a thread is visible, its switch-out is not.
// Then the CPU runs another thread than the one switched in last. The kernel's
// own accounts of the two threads give the time of the hidden switch.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_HIDDEN_SWITCHES_BPF_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_HIDDEN_SWITCHES_BPF_H_

#include "runtime/recorder/kernel/bpf/programs/ring_writer.bpf.h"
#include "runtime/recorder/kernel/bpf/programs/thread_ids.bpf.h"

// Threads (their host's ids) that left unseen at least once, and the CPU slot
// of their last switch-in. If the map is full, the oldest thread is settled
// late.
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 1024);
  __type(key, __u32);
  __type(value, __u32);
} hidden_threads SEC(".maps");

__u32 any_hidden = 0;

static __always_inline void note_switch_in(
    struct countrace_ring_control* control, const struct task_struct* next,
    __u64 now) {
  control->task = (__u64)next;
  control->tid = tid_of(next);
  control->host_tid = next->pid;
  control->runtime_ns = next->se.sum_exec_runtime;
  control->switched_in_ns = now;
  control->added_ns = 0;
  control->ran_ns = 0;
  // The kernel increments it after the tracepoint.
  control->times = bpf_core_field_exists(next->sched_info.pcount)
                       ? next->sched_info.pcount + 1
                       : 0;
}

// `next` is switched in: computes the length of its last dispatch if its end
// was hidden.
static __always_inline void settle_hidden_dispatch(
    const struct task_struct* next) {
  const __u32 tid = next->pid;
  __u32* slot = bpf_map_lookup_elem(&hidden_threads, &tid);
  if (!slot) return;
  const __u32 last = *slot;
  struct countrace_ring_control* control =
      bpf_map_lookup_elem(&ring_controls, &last);
  if (control && control->task == (__u64)next && control->host_tid == tid &&
      next->se.sum_exec_runtime > control->runtime_ns) {
    control->ran_ns = next->se.sum_exec_runtime - control->runtime_ns;
  }
  *slot = this_slot();
}

// Stores our clock minus the scheduler's, which is as new as the current
// switch.
static __always_inline void compare_clocks(
    struct countrace_ring_control* control, const struct task_struct* prev,
    __u64 now) {
  if (!bpf_core_field_exists(prev->se.cfs_rq)) return;
  control->clock_offset = now - prev->se.cfs_rq->rq->clock;
}

// Time at which `task`, which runs on this CPU, was switched in; 0 if the
// kernel does not store it.
static __always_inline __u64
arrival_time(const struct countrace_ring_control* control,
             const struct task_struct* task) {
  if (!bpf_core_field_exists(task->sched_info.last_arrival) || task->pid == 0 ||
      !control->clock_offset) {
    return 0;
  }
  const __u64 arrival = task->sched_info.last_arrival;
  return arrival ? arrival + control->clock_offset : 0;
}

// Length of the last dispatch; 0 if that thread has run elsewhere since, or has
// ended, so that its memory may be reused.
static __always_inline __u64
last_dispatch(const struct countrace_ring_control* control) {
  const struct task_struct* hidden = (const struct task_struct*)control->task;
  __u64 runtime = 0;
  unsigned long times = 0;
  int tid = 0;
  if (control->ran_ns) return control->ran_ns;
  if (!bpf_core_field_exists(hidden->sched_info.pcount)) return 0;
  bpf_core_read(&runtime, sizeof(runtime), &hidden->se.sum_exec_runtime);
  bpf_core_read(&times, sizeof(times), &hidden->sched_info.pcount);
  bpf_core_read(&tid, sizeof(tid), &hidden->pid);
  if (tid == 0 || tid != (int)control->host_tid || times != control->times ||
      runtime < control->runtime_ns) {
    return 0;
  }
  return runtime - control->runtime_ns;
}

// Time at which the thread that was switched in last left, and `task`, which
// runs now, was switched in; 0 if it cannot be computed.
static __always_inline __u64
hidden_switch_time(const struct countrace_ring_control* control,
                   const struct task_struct* task, __u64 now) {
  const __u64 earliest = control->switched_in_ns;
  __u64 left = arrival_time(control, task);
  if (!left) {
    const __u64 dispatch_ns = last_dispatch(control);
    if (!dispatch_ns) return 0;
    left = earliest + dispatch_ns;
  }
  if (left < earliest) left = earliest;
  return left < now ? left : now;
}

// What `task`, which runs on this CPU, has run here in its account.
static __always_inline __u64 run_since_arrival(const struct task_struct* task) {
  if (!bpf_core_field_exists(task->sched_info.last_arrival) ||
      !bpf_core_field_exists(task->se.cfs_rq)) {
    return 0;
  }
  const struct rq* rq = task->se.cfs_rq->rq;
  const __u64 updated = task->se.exec_start + (rq->clock - rq->clock_task);
  const __u64 arrival = task->sched_info.last_arrival;
  return updated > arrival ? updated - arrival : 0;
}

// Adds the run time of the current dispatch, except what a snapshot's dump has
// added.
static __always_inline void add_exec_time(
    struct countrace_ring_control* control, __u64 ns) {
  if (ns <= control->added_ns) return;
  control->exec_ns += ns - control->added_ns;
  control->added_ns = ns;
}

// `prev` leaves now: the scheduler has updated its account.
static __always_inline void add_run_time(struct countrace_ring_control* control,
                                         const struct task_struct* prev,
                                         __u64 now) {
  if (!counts_exec || prev->pid == 0) return;
  if (control->task != (__u64)prev) {
    control->exec_ns += run_since_arrival(prev);
  } else if (control->switched_in_ns == control->begin_ns) {
    // Its account at the begin was as old as the last tick.
    add_exec_time(control, now - control->begin_ns);
  } else {
    add_exec_time(control, prev->se.sum_exec_runtime - control->runtime_ns);
  }
}

// Run time of the thread that was switched in last and left unseen, by `left`.
static __always_inline __u64
hidden_run_time(const struct countrace_ring_control* control, __u64 left) {
  if (!counts_exec || control->tid == 0) return 0;
  const __u64 ran = last_dispatch(control);
  return ran ? ran : left - control->switched_in_ns;
}

// The recording or a snapshot ends on this CPU. The account of the thread that
// runs is as old as the last tick.
static __always_inline void add_run_time_so_far(
    struct countrace_ring_control* control, __u64 now) {
  if (counts_exec && (__u32)bpf_get_current_pid_tgid() != 0) {
    add_exec_time(control, now - control->switched_in_ns);
  }
}

// The same as note_switch_in() for a thread that came before, unseen.
static __always_inline void note_running(struct countrace_ring_control* control,
                                         const struct task_struct* task,
                                         __u64 since) {
  note_switch_in(control, task, since);
  if (counts_exec) control->runtime_ns -= run_since_arrival(task);
}

static __always_inline void note_hidden_thread(__u32 tid) {
  if (tid == 0 || bpf_map_lookup_elem(&hidden_threads, &tid)) return;
  const __u32 slot = this_slot();
  bpf_map_update_elem(&hidden_threads, &tid, &slot, BPF_ANY);
  any_hidden = 1;
}

static __always_inline void switch_in_event(
    struct countrace_ring_control* control, __u32 from, __u32 to,
    __u64 time_ns) {
  __u64* record = reserve_known(control, 16, time_ns);
  if (!record) return;
  record[1] = ((__u64)from & 0xffffff) | ((__u64)to & 0xffffff) << 24 |
              1ull << 48;  // computed, not seen
  commit(record, EVENT_SWITCH_IN, time_ns);
}

// `prev`, which leaves now, is not the thread that was switched in last.
static __always_inline void note_hidden_switch(
    struct countrace_ring_control* control, const struct task_struct* prev,
    __u64 now) {
  ++control->switches;
  note_hidden_thread(control->host_tid);
  const __u64 left = hidden_switch_time(control, prev, now);
  add_exec_time(control, hidden_run_time(control, left ? left : now));
  if (left) switch_in_event(control, control->tid, tid_of(prev), left);
}

// Called at a record of the running task: if it is not the thread that was
// switched in last, writes a switch-in before that record is read.
static __always_inline void note_who_runs(
    struct countrace_ring_control* control) {
  const struct task_struct* task = bpf_get_current_task_btf();
  const __u64 was = load(control->task);
  if (!was || was == (__u64)task) return;
  const __u32 tid = control->tid, host_tid = control->host_tid;
  const __u64 left = hidden_switch_time(control, task, bpf_ktime_get_ns());
  if (!left) return;
  const __u64 run_ns = hidden_run_time(control, left);
  // A switch that came in between has written it.
  if (__sync_val_compare_and_swap(&control->task, was, (__u64)task) != was) {
    return;
  }
  ++control->switches;
  note_hidden_thread(host_tid);
  add_exec_time(control, run_ns);
  note_running(control, task, left);
  switch_in_event(control, tid, tid_of(task), left);
}

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_HIDDEN_SWITCHES_BPF_H_
