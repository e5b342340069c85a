// Adds up how long all threads of the machine are on a CPU, wait for one, are
// throttled and are blocked. Kernel 6.1 and later. No program interrupts
// another: interrupts are off in all.
#include "runtime/recorder/kernel/bpf/programs/thread_sums.h"
// (the others need its types)
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "runtime/recorder/kernel/bpf/programs/kernel_types.bpf.h"

// (since_ns << 3 | state), by address of the task_struct: a number may have a
// new thread before the old one has left its CPU.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, COUNTRACE_SUMMED_THREADS);
  __type(key, __u64);
  __type(value, __u64);
} threads SEC(".maps");

struct countrace_cpu_sums cpus[COUNTRACE_SUMMED_CPUS] = {};
int has_quotas = 0;  // set by each switch

static __always_inline struct countrace_cpu_sums* this_cpu(void) {
  return &cpus[bpf_get_smp_processor_id() & (COUNTRACE_SUMMED_CPUS - 1)];
}

// `task` enters `state` if it is in a state from `least` on, or in none that is
// known and `least` is 0.
static __always_inline void enter(const struct task_struct* task, __u64 now,
                                  __u64 state, __u64 least) {
  struct countrace_cpu_sums* const cpu = this_cpu();
  const __u64 key = (__u64)task, value = now << 3 | state;
  __u64* const open = bpf_map_lookup_elem(&threads, &key);
  if (open && (*open & 7) >= least) {
    if (now > *open >> 3) cpu->ended_ns[*open & 7] += now - (*open >> 3);
    *open = value;
  } else if (!open && !least &&
             bpf_map_update_elem(&threads, &key, &value, BPF_ANY)) {
    ++cpu->no_room;
  }
}

// One run of 64 stands for the others.
static __always_inline int end_run(__u64 began_ns) {
  struct countrace_cpu_sums* const cpu = this_cpu();
  if (++cpu->runs % 64 == 0)
    cpu->run_ns += 64 * (bpf_ktime_get_ns() - began_ns);
  return 0;
}

static __always_inline __u64 state_after(_Bool preempt,
                                         const struct task_struct* prev,
                                         unsigned prev_state) {
  // A signal may have kept it runnable.
  if (preempt || !prev_state || !prev->__state)
    return is_throttled(prev) ? COUNTRACE_THROTTLED : COUNTRACE_WAITS;
  if (prev_state & 1) return COUNTRACE_INTERRUPTIBLE;
  return (prev_state & 0x402) == 2 ? COUNTRACE_UNINTERRUPTIBLE
                                   : COUNTRACE_OTHER;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, _Bool preempt, struct task_struct* prev,
             struct task_struct* next, unsigned prev_state) {
  const __u64 now = bpf_ktime_get_ns(), key = (__u64)prev;
  struct countrace_cpu_sums* const cpu = this_cpu();
  // Not by `prev`: some virtual machines hide switches.
  const int busy = cpu->on_cpu_ns < 0;
  if (next->pid && !busy) cpu->on_cpu_ns -= now;
  if (!next->pid && busy) cpu->on_cpu_ns += now;
  ++cpu->switches;
  has_quotas = bpf_core_field_exists(prev->se.cfs_rq->throttle_count);
  if (next->pid) enter(next, now, COUNTRACE_RUNS, 0);
  if (prev_state & 0x80) {  // TASK_DEAD
    bpf_map_delete_elem(&threads, &key);
  } else if (prev->pid) {
    enter(prev, now, state_after(preempt, prev, prev_state), 0);
  }
  return end_run(now);
}

// Comes behind the switch at which the thread left its CPU; if it has it still,
// or waits for one, nothing changes.
SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct* task) {
  const __u64 now = bpf_ktime_get_ns();
  enter(task, now, COUNTRACE_WAITS, COUNTRACE_INTERRUPTIBLE);
  return end_run(now);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct* task) {
  const __u64 now = bpf_ktime_get_ns();
  enter(task, now, COUNTRACE_WAITS, 0);
  return end_run(now);
}

char countrace_license[] SEC("license") = "Dual MIT/GPL";
