// A stack of a thread that left its CPU, as the BPF programs hand it to the
// recorder. Compiled into both: C, fixed layout.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_OFF_CPU_STACK_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_OFF_CPU_STACK_H_

// Bytes of frames are masked with these times 8, so both are 2^n - 1.
#define COUNTRACE_OFF_CPU_KERNEL_FRAMES 63
#define COUNTRACE_OFF_CPU_USER_FRAMES 127
#define COUNTRACE_OFF_CPU_FRAMES \
  (COUNTRACE_OFF_CPU_KERNEL_FRAMES + COUNTRACE_OFF_CPU_USER_FRAMES)

// Words of user registers that the kernel saves (struct pt_regs), as it has
// them; 0: not known for this processor.
#if defined(__TARGET_ARCH_x86) || defined(__x86_64__)
#define COUNTRACE_SAVED_REGISTERS 21
#define COUNTRACE_SAVED_STACK_POINTER 19
#elif defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
#define COUNTRACE_SAVED_REGISTERS 34
#define COUNTRACE_SAVED_STACK_POINTER 31
#else
#define COUNTRACE_SAVED_REGISTERS 0
#define COUNTRACE_SAVED_STACK_POINTER 0
#endif

// Only the frames that are there are handed over. Where stacks are copied, the
// user frames are the saved registers, and the copy is behind them (a waker's:
// behind room for all frames).
struct countrace_off_cpu_stack {
  unsigned long long left_ns;  // of the map: 0 while the thread is on a CPU
  unsigned long long back_ns;
  unsigned int pid, tid;  // in the recorder's pid namespace
  unsigned short slot;    // of the CPU it left; handed over: it came back to
  unsigned short kernel_bytes, user_bytes;  // of frames, in this order
  unsigned short of_waker;    // 1: of who woke the thread that left at left_ns
  unsigned int copied_bytes;  // of the user stack, from its pointer up
  unsigned int host;          // tid in the host's pid namespace
  unsigned short registers;   // 1: user_bytes are of saved registers
  unsigned short unused[3];
  unsigned long long frames[COUNTRACE_OFF_CPU_FRAMES];  // innermost first
};
#define COUNTRACE_OFF_CPU_HEAD_BYTES 48

// A copy of a stack is made in parts of a page of this size, up to a power of
// two of bytes.
#define COUNTRACE_COPY_PART_BYTES 4096

// The time of waits that ended on one CPU, and its parts that have no stack; of
// wakers the time until the wake-ups from there.
struct countrace_off_cpu_sums {
  unsigned long long off_ns;               // all of it
  unsigned long long shorter, shorter_ns;  // waits below the limit
  unsigned long long lost, lost_ns;        // stacks without room
  unsigned long long unseen;  // waits whose end was not seen, of unknown time
  unsigned long long waker_ns, waker_idle_ns;  // idle: no stack
  unsigned long long waker_lost, waker_lost_ns;
};

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_OFF_CPU_STACK_H_
