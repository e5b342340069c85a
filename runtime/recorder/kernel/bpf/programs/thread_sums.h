// What the programs of thread_sums.bpf.c add up. C, for both sides.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_THREAD_SUMS_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_THREAD_SUMS_H_

#include <linux/bpf.h>

enum {
  COUNTRACE_RUNS,
  COUNTRACE_WAITS,
  COUNTRACE_THROTTLED,  // waits as a CPU quota is used up
  COUNTRACE_INTERRUPTIBLE,
  COUNTRACE_UNINTERRUPTIBLE,
  COUNTRACE_OTHER,  // blocked, too: idle kernel threads, stopped, traced
  COUNTRACE_STATES = 8,
  COUNTRACE_SUMMED_CPUS = 8192,  // Linux has no more
  COUNTRACE_SUMMED_THREADS = 64 * 1024,
};

struct countrace_cpu_sums {
  // When idle took the CPU minus when it left, added up, CLOCK_MONOTONIC:
  // negative while a thread has the CPU.
  __s64 on_cpu_ns;
  __u64 ended_ns[COUNTRACE_STATES];  // of states that are over
  __u64 switches, no_room;           // no_room: of threads, in `threads`
  __u64 runs, run_ns;                // of the programs; run_ns: estimate
} __attribute__((aligned(128)));

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_THREAD_SUMS_H_
