// HOT. The state of a dump rule for one kernel-side hook in one thread, and the
// decisions at enter and exit. The BPF programs and the replay over a log share
// it, so that the two agree. Plain C.
//
// The caller evaluates `if` and `from`, because it has the registers (the
// replay has none, and reports bounds instead). Comparisons with `ret` are
// evaluated here, at the exit. A rule with one marks each enter that its other
// conditions allow, and evaluates count and times at the exit, for the calls
// whose `ret` holds.
#ifndef COUNTRACE_RUNTIME_RULES_KERNEL_RULE_STATE_H_
#define COUNTRACE_RUNTIME_RULES_KERNEL_RULE_STATE_H_

#include "runtime/rules/dump_rule_eval.h"

// Valid, and in its first state, when all zero.
struct countrace_kernel_rule_state {
  struct countrace_rule_state rule;
  // Bit i: the decision at the enter of the i-th innermost open call. One word
  // instead of a stack: if more than 64 calls are nested, the outermost are
  // lost, and calls that never end (exit, longjmp, a fault that failed) use no
  // memory.
  unsigned long long open;
};

// Whether a point's record carries a dump; `now_ns` is its time.
static inline int countrace_kernel_rule_point(
    const struct countrace_dump_rule* rule,
    struct countrace_kernel_rule_state* state, unsigned long long now_ns,
    unsigned long long tick_ns) {
  if (!countrace_rule_takes_nth(rule, ++state->rule.passed)) return 0;
  if (!countrace_rule_has_time(rule)) return 1;
  if (!countrace_rule_is_due(rule, state->rule.last_ns, now_ns, tick_ns)) {
    return 0;
  }
  state->rule.last_ns = now_ns;
  return 1;
}

// `asked`: `if` (without `ret`) and `from` hold.
static inline int countrace_kernel_rule_enter(
    const struct countrace_dump_rule* rule,
    struct countrace_kernel_rule_state* state, int asked,
    unsigned long long now_ns, unsigned long long tick_ns) {
  const int dump =
      asked && (countrace_rule_decides_at_exit(rule) ||
                countrace_kernel_rule_point(rule, state, now_ns, tick_ns));
  state->open = state->open << 1 | (unsigned long long)dump;
  return dump;
}

// The decision of the innermost open call; no if none is open.
static inline int countrace_kernel_rule_exit(
    const struct countrace_dump_rule* rule,
    struct countrace_kernel_rule_state* state, unsigned long long ret,
    unsigned long long now_ns, unsigned long long tick_ns) {
  const int dump = state->open & 1;
  state->open >>= 1;
  if (!dump || !countrace_rule_decides_at_exit(rule)) return dump;
  return countrace_rule_ret_holds(rule, ret) &&
         countrace_kernel_rule_point(rule, state, now_ns, tick_ns);
}

#endif  // COUNTRACE_RUNTIME_RULES_KERNEL_RULE_STATE_H_
