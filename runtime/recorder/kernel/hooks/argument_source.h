// The locations of the values of a kernel-side hook that a dump rule may
// compare, and of those that its records store. The recorder fills them in
// (argument_sources.h), the BPF programs read them. Compiled into both: C,
// fixed layout.
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

// What a stored value is.
enum countrace_text_place {
  COUNTRACE_TEXT_NONE = 0,  // a number
  COUNTRACE_TEXT_USER = 1,  // text in the thread's memory, at the value
  // Text at the value, in the kernel's memory or, by its sign, the thread's.
  COUNTRACE_TEXT_KERNEL = 2,
  // Text in the program's context: at the source's offset, `bytes` long; or as
  // the value says (__data_loc): offset, and length << 16.
  COUNTRACE_TEXT_HANDED = 3,
  COUNTRACE_TEXT_DATA_LOC = 4,
  // The same bytes, but no text: at most half as many, shown in base 16.
  COUNTRACE_TEXT_HANDED_HEX = 5,
  COUNTRACE_TEXT_DATA_LOC_HEX = 6,
};
// Set in the last word of a slot with such bytes.
#define COUNTRACE_TEXT_IS_HEX 0x10000

// At most this much of a text is stored; of a longer one, less and `...`.
#define COUNTRACE_TEXT_BYTES 128
// Room of a text in a ring: one more byte to see that it is longer, a NUL,
// padding, and, as the last word of 32 bits, the bytes read with the NUL; 0: a
// null pointer; negative: it could not be read.
#define COUNTRACE_TEXT_ROOM 136
#define COUNTRACE_STORED_VALUES 6

// The values in a hook's records. In a ring each has a slot: of 8 bytes, of a
// text COUNTRACE_TEXT_ROOM.
struct countrace_stored_values {
  unsigned char count, texts;  // bit i of `texts`: value i is one
  unsigned short bytes;        // of all slots
  unsigned char text[COUNTRACE_STORED_VALUES];  // enum countrace_text_place
  unsigned short at[COUNTRACE_STORED_VALUES];   // offset of each slot
  // In place of slots, this part of the program's context, as long as they are
  // at most: one copy. 0 bytes: slots.
  unsigned char window_at, window_bytes;
  struct countrace_value_source values[COUNTRACE_STORED_VALUES];
};

// Those of a kernel function that both of its programs can read.
#define COUNTRACE_FUNCTION_ARGUMENTS 5
// In the cookie of its exit: the bits of its return value, 0: it has none.
#define COUNTRACE_COOKIE_RET_SHIFT 18
#define COUNTRACE_COOKIE_RET_SIGNED (1u << 25)

struct countrace_argument_sources {
  struct countrace_value_source arguments[6];
  // A code address after the begin of the instruction that caused the record,
  // and at most one byte after its end: a return address.
  struct countrace_value_source caller;
  struct countrace_stored_values stored;
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
