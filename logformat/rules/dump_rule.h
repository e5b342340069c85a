// One dump rule in its compiled form: which event records of a hook carry
// counter values. A flat table of them is in `.session` while a recording runs
// (session_layout.h); runtime/rules/ makes it from text.
//
// Plain C with a fixed layout, so that a BPF program can hold the same table:
// compiled into the recorder, the runtime library and programs for the kernel.
// runtime/rules/dump_rule_eval.h evaluates it.
#ifndef COUNTRACE_LOGFORMAT_RULES_DUMP_RULE_H_
#define COUNTRACE_LOGFORMAT_RULES_DUMP_RULE_H_

#define COUNTRACE_MAX_DUMP_RULES 16
#define COUNTRACE_MAX_PREDICATES 4
// With the terminating NUL; longer rules are rejected.
#define COUNTRACE_RULE_TEXT_BYTES 256
#define COUNTRACE_RULE_CALLER_BYTES 64
// Longest text in a comparison with a payload string.
#define COUNTRACE_PREDICATE_TEXT_BYTES 32

enum countrace_comparison {
  COUNTRACE_EQUAL = 1,
  COUNTRACE_NOT_EQUAL = 2,
  COUNTRACE_LESS = 3,
  COUNTRACE_LESS_OR_EQUAL = 4,
  COUNTRACE_GREATER = 5,
  COUNTRACE_GREATER_OR_EQUAL = 6,
  COUNTRACE_HAS_BITS = 7  // value & constant != 0
};

enum countrace_constant {
  COUNTRACE_CONSTANT_UNSIGNED = 1,
  COUNTRACE_CONSTANT_NEGATIVE = 2,  // two's complement, below 0
  COUNTRACE_CONSTANT_DOUBLE = 3,    // BPF programs cannot compare these
  COUNTRACE_CONSTANT_TEXT = 4       // for equal and not equal only
};

// The value that is compared. 0 to 5: a payload value, or an argument of the
// code at a kernel-side hook. Larger numbers exist only at kernel-side hooks.
enum countrace_argument {
  COUNTRACE_ARGUMENTS = 6,       // arg0 to arg5
  COUNTRACE_ARGUMENT_RET = 6,    // return value of the code, at its exit
  COUNTRACE_ARGUMENT_NUMBER = 7  // of the system call, interrupt, ...
};

// Compares one such value with a constant.
struct countrace_predicate {
  unsigned char argument;    // enum countrace_argument
  unsigned char comparison;  // enum countrace_comparison
  unsigned char constant;    // enum countrace_constant
  unsigned char text_bytes;
  unsigned int reserved;
  unsigned long long bits;  // of an integer or double
  char text[COUNTRACE_PREDICATE_TEXT_BYTES];
};

// A record carries a dump if each condition that is not 0 holds. They are
// evaluated in this order: predicates, caller, every_n, then the times. A
// record that fails one is not counted by the following ones. Counts and times
// are kept per hook and thread. An exit carries a dump if its enter did. A rule
// that compares COUNTRACE_ARGUMENT_RET is evaluated again at the exit, because
// its value does not exist at the enter: both must hold.
struct countrace_dump_rule {
  unsigned long long every_n;  // the n-th, 2n-th, ... that passed so far
  unsigned long long min_interval_ns;  // at least this long after the last dump
  // The first record in each interval of this many ticks. Intervals begin at
  // multiples of their length on CLOCK_MONOTONIC: they are the same for all
  // threads and CPUs.
  unsigned long long every_ticks;
  // The code address that fires the hook: begin <= address < end. With an
  // object's name these are offsets from its load address; 0 to ~0 by default.
  unsigned long long caller_begin;
  unsigned long long caller_end;  // 0: any caller
  unsigned int never;  // 1: no dump, the other conditions are ignored
  unsigned int predicate_count;
  struct countrace_predicate predicates[COUNTRACE_MAX_PREDICATES];
  char glob[COUNTRACE_RULE_TEXT_BYTES];      // on "provider:name"
  char caller[COUNTRACE_RULE_CALLER_BYTES];  // name of an object; may be empty
  char text[COUNTRACE_RULE_TEXT_BYTES];      // canonical spelling
};

// State of a rule for one hook in one thread; all 0 at the beginning.
struct countrace_rule_state {
  unsigned long long passed;   // records that met predicates and caller
  unsigned long long last_ns;  // time of the last dump; 0: none yet
};

#ifdef __cplusplus
static_assert(sizeof(struct countrace_predicate) == 48, "FORMAT.md section 6");
static_assert(sizeof(struct countrace_dump_rule) == 816, "FORMAT.md section 6");
#endif

#endif  // COUNTRACE_LOGFORMAT_RULES_DUMP_RULE_H_
