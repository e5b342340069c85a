// What the programs of thread_times.bpf.c say of a thread. C, for both sides.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_THREAD_TIMES_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_THREAD_TIMES_H_

#include <linux/bpf.h>

// No two threads have both.
struct countrace_thread_key {
  __u64 start_ns;  // CLOCK_MONOTONIC
  __s32 tid;
  __u32 zero;
};
struct countrace_thread_times {
  struct countrace_thread_key key;
  __u64 user_ns, system_ns;  // since the thread began
};

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_THREAD_TIMES_H_
