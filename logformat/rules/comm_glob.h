// A glob on a command's name (comm), compiled to a table that a loop without
// branches follows: `*` matches any text, `?` any byte, other bytes themselves.
//
// Bit i of a set of states: the first i elements of the glob are matched. Plain
// C with a fixed layout: a BPF program and the recorder use the same table, so
// they always agree. Thread: any.
#ifndef COUNTRACE_LOGFORMAT_RULES_COMM_GLOB_H_
#define COUNTRACE_LOGFORMAT_RULES_COMM_GLOB_H_

// With the terminating NUL.
#define COUNTRACE_COMM_BYTES 16
// Elements other than `*`: one more than a name has bytes.
#define COUNTRACE_COMM_GLOB_ELEMENTS 16

struct countrace_comm_glob {
  unsigned int accepts[256];  // by byte: the elements that accept it
  unsigned int stays;         // states in which a `*` accepts any byte
  unsigned int end;           // number of elements
};

// `comm`: COUNTRACE_COMM_BYTES bytes; bytes after a NUL are ignored.
static inline __attribute__((always_inline)) int countrace_comm_glob_matches(
    const struct countrace_comm_glob* glob, const char* comm) {
  unsigned int states = 1;
  for (int i = 0; i < COUNTRACE_COMM_BYTES; ++i) {
    const unsigned char byte = (unsigned char)comm[i];
    if (byte == 0) break;
    states = (states & glob->accepts[byte]) << 1 | (states & glob->stays);
  }
  return (states >> (glob->end & 31) & 1) != 0;
}

#endif  // COUNTRACE_LOGFORMAT_RULES_COMM_GLOB_H_
