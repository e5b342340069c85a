// The locations of the values of a kernel-side hook that a dump rule may
// compare. The recorder fills them in (argument_sources.h), the BPF programs
// read them. Compiled into both: C, fixed layout.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_ARGUMENT_SOURCE_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_ARGUMENT_SOURCE_H_

enum countrace_value_place {
  COUNTRACE_VALUE_UNKNOWN = 0,
  COUNTRACE_VALUE_CONSTANT = 1,  // `displacement`
  // In the program's context: the registers, a tracepoint's fields.
  COUNTRACE_VALUE_HANDED = 2,
  // In the thread's memory, at the address in a register.
  COUNTRACE_VALUE_IN_MEMORY = 3,
};

struct countrace_value_source {
  unsigned char place;  // enum countrace_value_place
  unsigned char bytes;  // 1, 2, 4 or 8
  unsigned char is_signed;
  unsigned char index_shift;
  unsigned short offset;  // of the value, or of the register with its address
  unsigned short index_offset;  // of a second register; 0xffff: none
  // Added to the value of a register, or to the address in the registers.
  long long displacement;
};
#define COUNTRACE_NO_INDEX 0xffff

struct countrace_argument_sources {
  struct countrace_value_source arguments[6];
  // A code address after the begin of the instruction that caused the record,
  // and at most one byte after its end: a return address.
  struct countrace_value_source caller;
};

// Elements of the table of sources. The last one and all after it belong to
// single addresses in the code.
enum countrace_sources_index {
  COUNTRACE_SOURCES_NONE = 0,
  COUNTRACE_SOURCES_SYSCALL = 1,
  COUNTRACE_SOURCES_COMPAT_SYSCALL = 2,
  COUNTRACE_SOURCES_FAULT = 3,
  COUNTRACE_SOURCES_FUNCTION = 4,
  COUNTRACE_SOURCES_LISTED = 5,
};

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_ARGUMENT_SOURCE_H_
