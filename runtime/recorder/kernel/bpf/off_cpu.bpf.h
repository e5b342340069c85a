// Stacks of threads that are off their CPU for long: taken where they leave,
// handed over where they come back.
//
//   on CPU --(switch-out: stack)--> off CPU --(switch-in)--> on CPU
//                                             shorter: counted alone
//                                             else: the stack, with its time
//
// Called by the switch program, where no interrupt comes: an entry has one
// writer at a time. The stack of who wakes a thread is handed over at once.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_OFF_CPU_BPF_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_OFF_CPU_BPF_H_

#include "marked_processes.bpf.h"
#include "off_cpu_stack.h"

enum { STATE_DEAD = 0x80 };  // TASK_DEAD: its last switch

// Shortest time off CPU with a stack; 0: none are taken.
const volatile __u64 off_cpu_least_ns = 0;
// Stacks of who wakes such threads.
const volatile __u8 waker_stacks = 0;
// Set by the recorder while stacks are taken.
__u32 off_cpu_on = 0;

// By the host's tids. An entry takes memory at its thread's first switch-out.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct countrace_off_cpu_stack);
} off_cpu_stacks SEC(".maps");

// One element that stays zero: what a new entry is made from.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct countrace_off_cpu_stack);
} off_cpu_empty SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 4096);
} off_cpu_ring SEC(".maps");

// By slot.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct countrace_off_cpu_sums);
} off_cpu_sums SEC(".maps");

static __always_inline void forget_off_cpu(const struct task_struct* task) {
  if (!off_cpu_least_ns) return;
  const __u32 host = task->pid;
  bpf_map_delete_elem(&off_cpu_stacks, &host);
}

static __always_inline struct countrace_off_cpu_stack* off_cpu_entry(
    __u32 host) {
  struct countrace_off_cpu_stack* stack =
      bpf_map_lookup_elem(&off_cpu_stacks, &host);
  if (stack) return stack;
  const __u32 zero = 0;
  const void* empty = bpf_map_lookup_elem(&off_cpu_empty, &zero);
  if (!empty) return 0;
  bpf_map_update_elem(&off_cpu_stacks, &host, empty, BPF_NOEXIST);
  return bpf_map_lookup_elem(&off_cpu_stacks, &host);
}

// Takes the stack of the thread on this CPU.
static __always_inline void take_stack(void* context,
                                       struct countrace_off_cpu_stack* stack) {
  long bytes = bpf_get_stack(context, stack->frames,
                             8 * COUNTRACE_OFF_CPU_KERNEL_FRAMES, 0);
  __u64 kernel = bytes < 0 ? 0 : bytes;
  kernel &= 8 * COUNTRACE_OFF_CPU_KERNEL_FRAMES;
  bytes = bpf_get_stack(context, (char*)stack->frames + kernel,
                        8 * COUNTRACE_OFF_CPU_USER_FRAMES, BPF_F_USER_STACK);
  stack->kernel_bytes = kernel;
  stack->user_bytes = bytes < 0 ? 0 : bytes;
}

// `task`, whose tid in records is `tid`, leaves this CPU.
static __always_inline void leave_cpu(void* context,
                                      const struct task_struct* task, __u32 tid,
                                      __u32 state, __u64 now) {
  if (!off_cpu_least_ns || !off_cpu_on || !task->pid) return;
  if (state & STATE_DEAD) {
    forget_off_cpu(task);
    return;
  }
  const __u32 pid = pid_of(task);
  if (!is_counted(pid)) return;
  const __u32 slot = this_slot();
  struct countrace_off_cpu_sums* sums =
      bpf_map_lookup_elem(&off_cpu_sums, &slot);
  struct countrace_off_cpu_stack* stack = off_cpu_entry(task->pid);
  if (!sums) return;
  if (!stack) {
    ++sums->unseen;
    return;
  }
  if (stack->left_ns) ++sums->unseen;
  take_stack(context, stack);
  stack->slot = slot;
  stack->pid = pid;
  stack->tid = tid;
  stack->left_ns = now;
}

// `task` comes to this CPU.
static __always_inline void return_to_cpu(const struct task_struct* task,
                                          __u64 now) {
  if (!off_cpu_least_ns || !off_cpu_on) return;
  const __u32 host = task->pid, slot = this_slot();
  struct countrace_off_cpu_stack* stack =
      bpf_map_lookup_elem(&off_cpu_stacks, &host);
  struct countrace_off_cpu_sums* sums =
      bpf_map_lookup_elem(&off_cpu_sums, &slot);
  if (!sums || !stack || !stack->left_ns) return;
  const __u64 off_ns = now - stack->left_ns;
  sums->off_ns += off_ns;
  if (off_ns < off_cpu_least_ns) {
    ++sums->shorter;
    sums->shorter_ns += off_ns;
  } else {
    stack->back_ns = now;
    stack->slot = slot;
    const __u64 bytes =
        COUNTRACE_OFF_CPU_HEAD_BYTES +
        (stack->kernel_bytes & (8 * COUNTRACE_OFF_CPU_KERNEL_FRAMES)) +
        (stack->user_bytes & (8 * COUNTRACE_OFF_CPU_USER_FRAMES));
    // The recorder polls.
    if (bpf_ringbuf_output(&off_cpu_ring, stack, bytes, BPF_RB_NO_WAKEUP)) {
      ++sums->lost;
      sums->lost_ns += off_ns;
    }
  }
  stack->left_ns = 0;
}

// This CPU wakes `task`, which left its own at left_ns.
static __always_inline void waker_stack(void* context,
                                        const struct task_struct* task) {
  if (!off_cpu_least_ns || !waker_stacks || !off_cpu_on) return;
  const __u32 host = task->pid, slot = this_slot();
  struct countrace_off_cpu_stack* waits =
      bpf_map_lookup_elem(&off_cpu_stacks, &host);
  struct countrace_off_cpu_sums* sums =
      bpf_map_lookup_elem(&off_cpu_sums, &slot);
  if (!sums || !waits) return;
  const __u64 left_ns = load(waits->left_ns);
  const __u64 now = bpf_ktime_get_ns();
  if (!left_ns || now < left_ns + off_cpu_least_ns) return;
  const __u64 off_ns = now - left_ns, ids = current_ids();
  // An interrupt may come here, and wake, too.
  __sync_fetch_and_add(&sums->waker_ns, off_ns);
  if (!(__u32)ids) {
    __sync_fetch_and_add(&sums->waker_idle_ns, off_ns);
    return;
  }
  struct countrace_off_cpu_stack* stack =
      bpf_ringbuf_reserve(&off_cpu_ring, sizeof(*stack), 0);
  if (!stack) {
    __sync_fetch_and_add(&sums->waker_lost, 1);
    __sync_fetch_and_add(&sums->waker_lost_ns, off_ns);
    return;
  }
  stack->left_ns = left_ns;
  stack->back_ns = now;
  stack->pid = ids >> 32;
  stack->tid = ids;
  stack->slot = slot;
  stack->of_waker = 1;
  take_stack(context, stack);
  bpf_ringbuf_submit(stack, BPF_RB_NO_WAKEUP);
}

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_OFF_CPU_BPF_H_
