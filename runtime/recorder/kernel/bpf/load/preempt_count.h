// Where x86 kernels keep how deep a CPU is in interrupts: their BTF says it.
//
// Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_PREEMPT_COUNT_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_PREEMPT_COUNT_H_

#include <cstdint>

namespace countrace::runtime {

// The bytes from a CPU's `runqueues` to its `__preempt_count`, or to the one in
// its `pcpu_hot` (6.2 to 6.14); 0: the kernel has none of these.
std::int64_t PreemptCountFromRunQueue();

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_PREEMPT_COUNT_H_
