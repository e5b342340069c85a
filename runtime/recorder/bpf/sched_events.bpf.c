// Dispatches with counters, forks, execs, names, exits and page faults, written
// into the CPU's ring. No wake-up: the recorder polls.
//
// Contexts: the tracepoint programs may be preempted by the switch program on
// the same CPU, and a fault by an interrupt; so room is reserved with a
// compare-exchange, and a record counts from the moment its header word is
// stored. Kernel 6.1 and later (sched_switch has prev_state since 5.18).
#include <linux/bpf.h>
#include <linux/types.h>
// (the helpers need the types)
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "kernel_ring.h"
#include "kernel_types.bpf.h"

char countrace_license[] SEC("license") = "Dual MIT/GPL";

// Event ids of logformat/packet_layout.h (a test compares them).
enum {
  EVENT_DISPATCH = 1,
  EVENT_COUNTERS = 2,
  EVENT_FORK = 3,
  EVENT_EXEC = 4,
  EVENT_COMM = 5,
  EVENT_EXIT = 6,
  EVENT_FAULT = 7,
  EVENT_SWITCH_IN = 9,
  EVENT_WAKEUP = 10,
};

// Set before the programs are loaded: constants to the verifier.
const volatile __u32 ring_mask = 4095;
const volatile __u32 counter_count = 0;
const volatile __u32 slot_count = 1;
// Which ring is a CPU's: its slot + 1, 0 for none. Machines that could hold
// hundreds of CPUs have few: only those online get a ring.
const volatile __u16 cpu_slot[COUNTRACE_MAX_CPUS] = {};
const volatile __u8 counter_source[COUNTRACE_MAX_COUNTERS] = {};

// One element for each slot: the ring's bytes and the slack.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __uint(key_size, 4);
  __uint(value_size, 4096 + COUNTRACE_RING_SLACK);
} rings SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct countrace_ring_control);
} ring_controls SEC(".maps");

// Perf events: counter * slot_count + slot.
struct {
  __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
  __uint(max_entries, 1);
  __uint(key_size, 4);
  __uint(value_size, 4);
} perf_events SEC(".maps");

// No element of a map has the slot of a CPU without a ring.
static __always_inline __u32 this_slot(void) {
  const __u32 cpu = bpf_get_smp_processor_id();
  if (cpu >= COUNTRACE_MAX_CPUS) return ~0u;
  return (__u32)cpu_slot[cpu] - 1;
}

static __always_inline struct countrace_ring_control* this_control(void) {
  const __u32 slot = this_slot();
  return bpf_map_lookup_elem(&ring_controls, &slot);
}

static __always_inline int is_recording(
    const struct countrace_ring_control* control) {
  return control && control->begin_ns && !control->ended;
}

#define load(field) (*(volatile __u64*)&(field))

// Bits 16..63: the low 48 bits of the time.
static __always_inline __u64 header_word(__u16 event, __u64 time_ns) {
  return time_ns << 16 | event;
}

// Room for `bytes` in this CPU's ring, or null: then it is counted as lost.
static __always_inline __u64* reserve(struct countrace_ring_control* control,
                                      __u32 bytes, __u64 time_ns) {
  const __u32 slot = this_slot();
  char* ring = bpf_map_lookup_elem(&rings, &slot);
  if (!ring) return 0;
  // More than a few tries: interrupts came in between each time.
  for (int i = 0; i < 8; ++i) {
    const __u64 head = load(control->head);
    const __u64 lost = load(control->lost);
    const __u32 before = lost != load(control->lost_said) ? 16 : 0;
    if (head + before + bytes - load(control->tail) > (__u64)ring_mask + 1) {
      break;
    }
    if (__sync_val_compare_and_swap(&control->head, head,
                                    head + before + bytes) != head) {
      continue;
    }
    if (before) {
      __u64* entry = (__u64*)(ring + (head & ring_mask));
      control->lost_said = lost;
      entry[1] = lost;
      *(volatile __u64*)entry = header_word(COUNTRACE_EVENT_LOST, time_ns);
    }
    return (__u64*)(ring + ((head + before) & ring_mask));
  }
  __sync_fetch_and_add(&control->lost, 1);
  return 0;
}

static __always_inline void commit(__u64* record, __u16 event, __u64 time_ns) {
#ifdef __TARGET_ARCH_x86
  // Stores are seen in order.
  __asm__ volatile("" : : : "memory");
  *(volatile __u64*)record = header_word(event, time_ns);
#else
  __sync_lock_test_and_set(record, header_word(event, time_ns));
#endif
}

static __always_inline void store_counters(
    struct countrace_ring_control* control, __u64* out, __u64 time_ns) {
  const __u32 slot = this_slot();
#pragma unroll
  for (__u32 i = 0; i < COUNTRACE_MAX_COUNTERS; ++i) {
    if (i >= counter_count) break;
    __u64 value = 0;
    switch (counter_source[i]) {
      case COUNTRACE_SOURCE_CLOCK:
        value = time_ns - control->begin_ns;
        break;
      case COUNTRACE_SOURCE_SWITCHES:
        value = control->switches;
        break;
      case COUNTRACE_SOURCE_FAULTS:
        value = control->faults;
        break;
      case COUNTRACE_SOURCE_PERF: {
        struct bpf_perf_event_value read = {};
        bpf_perf_event_read_value(&perf_events, i * slot_count + slot, &read,
                                  sizeof(read));
        value = read.counter;
        break;
      }
    }
    out[i] = value;
  }
}

// What the tracepoint prints as prev_state (include/trace/events/sched.h).
static __always_inline __u64 switch_state(int preempt, __u32 prev_state,
                                          const struct task_struct* prev) {
  if (preempt) return 0x100;
  if ((prev_state & 0x402) == 0x402) return 0x80;  // TASK_IDLE
  return (prev_state | prev->exit_state) & 0x7f;
}

// Some kernels do not run tracepoints in certain processes (a sandbox's own
// agent): `prev` runs here although somebody else was switched in last. How
// long that one ran, its task tells; from then on it was `prev`.
static __always_inline void note_hidden_switch(
    struct countrace_ring_control* control, const struct task_struct* prev,
    __u64 now) {
  const struct task_struct* hidden = (const struct task_struct*)control->task;
  __u64 runtime = 0;
  int tid = 0;
  // It may have ended, and its memory be somebody else's.
  bpf_core_read(&tid, sizeof(tid), &hidden->pid);
  bpf_core_read(&runtime, sizeof(runtime), &hidden->se.sum_exec_runtime);
  ++control->switches;
  if (tid == 0 || tid != (int)control->tid || runtime < control->runtime_ns) {
    return;
  }
  __u64 left = control->switched_in_ns + (runtime - control->runtime_ns);
  if (left > now) left = now;
  __u64* record = reserve(control, 16, left);
  if (!record) return;
  record[1] = ((__u64)tid & 0xffffff) | ((__u64)prev->pid & 0xffffff) << 24 |
              1ull << 48;  // computed, not seen
  commit(record, EVENT_SWITCH_IN, left);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, _Bool preempt, struct task_struct* prev,
             struct task_struct* next, unsigned int prev_state) {
  struct countrace_ring_control* control = this_control();
  if (!is_recording(control)) return 0;
  const __u64 now = bpf_ktime_get_ns();
  if (control->task && control->task != (__u64)prev) {
    note_hidden_switch(control, prev, now);
  }
  control->task = (__u64)next;
  control->tid = next->pid;
  control->runtime_ns = next->se.sum_exec_runtime;
  control->switched_in_ns = now;
  __u64* record = reserve(control, 16 + 8 * counter_count, now);
  if (record) {
    record[1] = ((__u64)prev->pid & 0xffffff) |
                ((__u64)next->pid & 0xffffff) << 24 |
                switch_state(preempt, prev_state, prev) << 48;
    store_counters(control, record + 2, now);
    commit(record, EVENT_DISPATCH, now);
  }
  ++control->switches;
  return 0;
}

static __always_inline int wakeup_event(const struct task_struct* wakee) {
  struct countrace_ring_control* control = this_control();
  if (!is_recording(control)) return 0;
  const __u64 now = bpf_ktime_get_ns();
  __u64* record = reserve(control, 16, now);
  if (!record) return 0;
  record[1] = (bpf_get_current_pid_tgid() & 0xffffff) |
              ((__u64)wakee->pid & 0xffffff) << 24 |
              (__u64)(wakee->wake_cpu & 0xffff) << 48;
  commit(record, EVENT_WAKEUP, now);
  return 0;
}

// In the waker's context; sched_wakeup may come on the wakee's CPU.
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct* wakee) {
  return wakeup_event(wakee);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct* wakee) {
  return wakeup_event(wakee);
}

static __always_inline int task_event(__u16 event, struct task_struct* task,
                                      struct task_struct* parent) {
  struct countrace_ring_control* control = this_control();
  if (!is_recording(control)) return 0;
  const __u64 now = bpf_ktime_get_ns();
  __u32* record = (__u32*)reserve(control, 24, now);
  if (!record) return 0;
  record[2] = task->tgid;
  record[3] = task->pid;
  record[4] = parent->tgid;
  record[5] = parent->pid;
  commit((__u64*)record, event, now);
  return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct* parent, struct task_struct* child) {
  return task_event(EVENT_FORK, child, parent);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct* task) {
  return task_event(EVENT_EXIT, task, task->real_parent);
}

static __always_inline int comm_event(__u16 event, struct task_struct* task,
                                      const char* comm) {
  struct countrace_ring_control* control = this_control();
  if (!is_recording(control)) return 0;
  const __u64 now = bpf_ktime_get_ns();
  __u32* record = (__u32*)reserve(control, 32, now);
  if (!record) return 0;
  record[2] = task->tgid;
  record[3] = task->pid;
  // Zero beyond the NUL, whatever the kernel left there.
  record[4] = record[5] = record[6] = record[7] = 0;
  bpf_probe_read_kernel_str(record + 4, 16, comm);
  commit((__u64*)record, event, now);
  return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct* task, int old_pid,
             struct linux_binprm* binary) {
  return comm_event(EVENT_EXEC, task, task->comm);
}

SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct* task, const char* comm) {
  // An exec says the name itself.
  if (bpf_core_field_exists(task->in_execve) &&
      BPF_CORE_READ_BITFIELD(task, in_execve)) {
    return 0;
  }
  return comm_event(EVENT_COMM, task, comm);
}

// On a software page-faults event with period 1 of each CPU.
SEC("perf_event")
int on_fault(struct bpf_perf_event_data* data) {
  struct countrace_ring_control* control = this_control();
  if (!is_recording(control)) return 0;
  const __u64 now = bpf_ktime_get_ns();
  __u64* record = reserve(control, 24, now);
  __sync_fetch_and_add(&control->faults, 1);
  if (!record) return 0;
  const __u64 ids = bpf_get_current_pid_tgid();
  record[1] = ids >> 32 | ids << 32;  // pid, tid
  record[2] = data->addr;
  commit(record, EVENT_FAULT, now);
  return 0;
}

// Run on each CPU when the recording begins and ends there (BPF_PROG_TEST_RUN):
// nothing before the first dump is recorded, nothing after the last.
SEC("raw_tp")
int dump_counters(__u64* request) {
  struct countrace_ring_control* control = this_control();
  if (!control || control->ended) return 0;
  const __u64 reason = request[0];
  const __u64 now = bpf_ktime_get_ns();
  if (!control->begin_ns) {
    const struct task_struct* task =
        (struct task_struct*)bpf_get_current_task();
    control->task = (__u64)task;
    control->tid = (__u32)bpf_get_current_pid_tgid();
    bpf_core_read(&control->runtime_ns, sizeof(control->runtime_ns),
                  &task->se.sum_exec_runtime);
    control->switched_in_ns = now;
    control->begin_ns = now;
  }
  __u32* record = (__u32*)reserve(control, 16 + 8 * counter_count, now);
  if (record) {
    record[2] = reason;
    record[3] = (__u32)bpf_get_current_pid_tgid();
    store_counters(control, (__u64*)(record + 4), now);
    commit((__u64*)record, EVENT_COUNTERS, now);
  }
  if (reason == 1) control->ended = 1;
  return 0;
}
