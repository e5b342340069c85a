// Where a kernel-side hook's values are that a dump rule may compare: filled in
// by the recorder (argument_sources.h), followed by the BPF
// programs. Compiled into both: C, fixed layout.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_ARGUMENT_SOURCE_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_ARGUMENT_SOURCE_H_

enum countrace_value_place {
  COUNTRACE_VALUE_UNKNOWN = 0,
  COUNTRACE_VALUE_CONSTANT = 1,  // `displacement`
  // In what the program is handed: the registers, a tracepoint's fields.
  COUNTRACE_VALUE_HANDED = 2,
  // In the thread's memory, where a register points.
  COUNTRACE_VALUE_IN_MEMORY = 3,
};

struct countrace_value_source {
  unsigned char place;  // enum countrace_value_place
  unsigned char bytes;  // 1, 2, 4 or 8
  unsigned char is_signed;
  unsigned char index_shift;
  unsigned short offset;        // of the value, or the register that points
  unsigned short index_offset;  // of a second register; 0xffff: none
  // Added: to the value of a register, or to where the registers point.
  long long displacement;
};
#define COUNTRACE_NO_INDEX 0xffff

struct countrace_argument_sources {
  struct countrace_value_source arguments[6];
  // A code address behind the begin of the instruction that caused the record,
  // and not behind its end by more than a byte: a return address.
  struct countrace_value_source caller;
};

// Elements of the table of sources; those from the last on are of single places
// in the code.
enum countrace_sources_index {
  COUNTRACE_SOURCES_NONE = 0,
  COUNTRACE_SOURCES_SYSCALL = 1,
  COUNTRACE_SOURCES_COMPAT_SYSCALL = 2,
  COUNTRACE_SOURCES_FAULT = 3,
  COUNTRACE_SOURCES_FUNCTION = 4,
  COUNTRACE_SOURCES_LISTED = 5,
};

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_ARGUMENT_SOURCE_H_
