// Stacks of threads that are off their CPU for long: taken where they leave,
// handed over where they come back.
//
//   on CPU --(switch-out: stack)--> off CPU --(switch-in)--> on CPU
//                                             shorter: counted alone
//                                             else: the stack, with its time
//
// A new thread is off CPU from its making on, with the stack of who made it.
// Called by the switch program and where new threads become runnable: no
// interrupt comes there, and an entry has one writer at a time. The stack of
// who wakes a thread is handed over at once.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_OFF_CPU_BPF_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_OFF_CPU_BPF_H_

#include "runtime/recorder/kernel/bpf/programs/marked_processes.bpf.h"
#include "runtime/recorder/kernel/bpf/programs/off_cpu_stack.h"

enum { STATE_DEAD = 0x80 };              // TASK_DEAD: its last switch
enum { FLAG_KERNEL_THREAD = 0x200000 };  // PF_KTHREAD

// Shortest time off CPU with a stack; 0: none are taken.
const volatile __u64 off_cpu_least_ns = 0;
// Stacks of who wakes such threads.
const volatile __u8 waker_stacks = 0;
// Bytes of the user stack that are copied; 0: frame pointers are followed. The
// room for them is a power of two, by its mask, and one more part.
const volatile __u32 copy_bytes = 0;
const volatile __u32 copy_mask = 0;
// A waker's stack in the ring has these, with the room for its copy.
const volatile __u64 waker_stack_bytes = 0;
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

// Copies of stacks, by the host's tids. Fewer threads have one than have an
// entry: the others' stacks end with their innermost frame.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 1);
  __uint(key_size, 4);
  __uint(value_size, COUNTRACE_COPY_PART_BYTES);
} stack_copies SEC(".maps");

// One element that stays zero: what a new copy is made from.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __uint(key_size, 4);
  __uint(value_size, COUNTRACE_COPY_PART_BYTES);
} empty_copy SEC(".maps");

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

// `task` has ended. If it is still off CPU here, the end of that was not seen.
static __always_inline void forget_off_cpu(const struct task_struct* task) {
  if (!off_cpu_least_ns) return;
  const __u32 host = task->pid, slot = this_slot();
  const struct countrace_off_cpu_stack* stack =
      bpf_map_lookup_elem(&off_cpu_stacks, &host);
  struct countrace_off_cpu_sums* sums =
      bpf_map_lookup_elem(&off_cpu_sums, &slot);
  if (stack && stack->left_ns && sums) ++sums->unseen;
  bpf_map_delete_elem(&off_cpu_stacks, &host);
  if (copy_bytes) bpf_map_delete_elem(&stack_copies, &host);
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

static __always_inline char* copy_of(__u32 host) {
  char* copy = bpf_map_lookup_elem(&stack_copies, &host);
  if (copy) return copy;
  const __u32 zero = 0;
  const void* empty = bpf_map_lookup_elem(&empty_copy, &zero);
  if (!empty) return 0;
  bpf_map_update_elem(&stack_copies, &host, empty, BPF_NOEXIST);
  return bpf_map_lookup_elem(&stack_copies, &host);
}

// Copies the user stack from its pointer up, until a page is not in memory.
// Returns: bytes.
static __always_inline __u32 copy_stack(char* copy, __u64 from) {
  __u32 bytes = 0;
  for (int i = 0; i < 18; ++i) {
    if (bytes >= copy_bytes) break;
    __u32 part = COUNTRACE_COPY_PART_BYTES -
                 ((from + bytes) & (COUNTRACE_COPY_PART_BYTES - 1));
    if (part > copy_bytes - bytes) part = copy_bytes - bytes;
    if (part > COUNTRACE_COPY_PART_BYTES) break;
    if (bpf_probe_read_user(copy + (bytes & copy_mask), part,
                            (const void*)(from + bytes))) {
      break;
    }
    bytes += part;
  }
  return bytes;
}

// Copies the user registers that the kernel saved of the thread on this CPU.
// Kernel threads have none, and of one that ends the stack may be gone.
static __always_inline void take_registers(
    struct task_struct* task, struct countrace_off_cpu_stack* stack) {
  stack->user_bytes = 0;
  if (task->flags & FLAG_KERNEL_THREAD || !BPF_CORE_READ(task, mm)) return;
  __u64* saved =
      (__u64*)((char*)stack->frames +
               (stack->kernel_bytes & (8 * COUNTRACE_OFF_CPU_KERNEL_FRAMES)));
  const void* registers = (const void*)bpf_task_pt_regs(task);
  if (bpf_probe_read_kernel(saved, 8 * COUNTRACE_SAVED_REGISTERS, registers)) {
    return;
  }
  stack->user_bytes = 8 * COUNTRACE_SAVED_REGISTERS;
}

// Takes the stack of the thread on this CPU; a copy to `copy`, if there is one.
static __always_inline void take_stack(void* context, struct task_struct* task,
                                       struct countrace_off_cpu_stack* stack,
                                       char* copy) {
  stack->copied_bytes = 0;
  stack->registers = copy_bytes != 0;
  long bytes = bpf_get_stack(context, stack->frames,
                             8 * COUNTRACE_OFF_CPU_KERNEL_FRAMES, 0);
  __u64 kernel = bytes < 0 ? 0 : bytes;
  kernel &= 8 * COUNTRACE_OFF_CPU_KERNEL_FRAMES;
  stack->kernel_bytes = kernel;
  if (copy_bytes) {
    take_registers(task, stack);
    if (!copy || !stack->user_bytes) return;
    const __u64* saved = (const __u64*)((char*)stack->frames + kernel);
    stack->copied_bytes =
        copy_stack(copy, saved[COUNTRACE_SAVED_STACK_POINTER]);
    return;
  }
  bytes = bpf_get_stack(context, (char*)stack->frames + kernel,
                        8 * COUNTRACE_OFF_CPU_USER_FRAMES, BPF_F_USER_STACK);
  stack->user_bytes = bytes < 0 ? 0 : bytes;
}

// Hands over the stack of a thread that comes back, without a copy if it has
// none. Returns: not 0 if there is no room.
static __always_inline long hand_over(
    const struct countrace_off_cpu_stack* stack) {
  const __u64 bytes =
      COUNTRACE_OFF_CPU_HEAD_BYTES +
      (stack->kernel_bytes & (8 * COUNTRACE_OFF_CPU_KERNEL_FRAMES)) +
      (stack->user_bytes & (8 * COUNTRACE_OFF_CPU_USER_FRAMES));
  // The recorder polls.
  if (!copy_bytes) {
    return bpf_ringbuf_output(&off_cpu_ring, (void*)stack, bytes,
                              BPF_RB_NO_WAKEUP);
  }
  const __u32 host = stack->host;
  char* copy = bpf_map_lookup_elem(&stack_copies, &host);
  __u32 copied = copy ? stack->copied_bytes : 0;
  if (copied > copy_mask + 1) copied = 0;
  struct bpf_dynptr out;
  long error =
      bpf_ringbuf_reserve_dynptr(&off_cpu_ring, bytes + copied, 0, &out);
  if (error) {
    bpf_ringbuf_discard_dynptr(&out, BPF_RB_NO_WAKEUP);
    return error;
  }
  bpf_dynptr_write(&out, 0, (void*)stack, bytes, 0);
  if (copy && copied) bpf_dynptr_write(&out, bytes, copy, copied, 0);
  bpf_ringbuf_submit_dynptr(&out, BPF_RB_NO_WAKEUP);
  return 0;
}

// `task`, whose tid in records is `tid`, is off CPU from now on. The stack is
// that of `here`, which is on this CPU.
static __always_inline void begin_off_cpu(void* context,
                                          struct task_struct* here,
                                          const struct task_struct* task,
                                          __u32 tid, __u64 now) {
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
  take_stack(context, here, stack, copy_bytes ? copy_of(task->pid) : 0);
  stack->slot = slot;
  stack->pid = pid;
  stack->tid = tid;
  stack->host = task->pid;
  stack->left_ns = now;
}

// `task`, whose tid in records is `tid`, leaves this CPU.
static __always_inline void leave_cpu(void* context, struct task_struct* task,
                                      __u32 tid, __u32 state, __u64 now) {
  if (!off_cpu_least_ns || !off_cpu_on || !task->pid) return;
  if (state & STATE_DEAD) {
    forget_off_cpu(task);
    return;
  }
  begin_off_cpu(context, task, task, tid, now);
}

// The thread on this CPU has made `task`, which waits for its first CPU.
static __always_inline void wait_for_first_cpu(void* context,
                                               const struct task_struct* task) {
  if (!off_cpu_least_ns || !off_cpu_on) return;
  begin_off_cpu(context, bpf_get_current_task_btf(), task, tid_of(task),
                bpf_ktime_get_ns());
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
    if (hand_over(stack)) {
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
      bpf_ringbuf_reserve(&off_cpu_ring, waker_stack_bytes, 0);
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
  take_stack(context, bpf_get_current_task_btf(), stack,
             copy_bytes ? (char*)(stack + 1) : 0);
  bpf_ringbuf_submit(stack, BPF_RB_NO_WAKEUP);
}

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_OFF_CPU_BPF_H_
