// Whether a program runs in an interrupt, whatever thread that interrupted.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_INTERRUPT_CONTEXT_BPF_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_INTERRUPT_CONTEXT_BPF_H_

#include "runtime/recorder/kernel/bpf/programs/kernel_types.bpf.h"

// x86: where a CPU's variable with the kernel's count lies, in bytes from its
// run queue (load/preempt_count.h); 0: it is not found.
const volatile __s64 preempt_count_at = 0;

// 0 also where the count is not found.
static __always_inline int in_interrupt(void) {
  // include/linux/preempt.h: a softirq that is served, interrupts, NMIs.
  const __u32 mask = 0xff0100;
  const struct task_struct* task = bpf_get_current_task_btf();
#if defined(__TARGET_ARCH_arm64)
  return ((__u32)task->thread_info.preempt_count & mask) != 0;
#else
  if (!preempt_count_at || !bpf_core_field_exists(task->se.cfs_rq)) return 0;
  __u32 count = 0;
  bpf_probe_read_kernel(&count, sizeof(count),
                        (const char*)task->se.cfs_rq->rq + preempt_count_at);
  return (count & mask) != 0;
#endif
}

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_INTERRUPT_CONTEXT_BPF_H_
