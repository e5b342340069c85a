// HOT. The conditions of a dump rule, evaluated for one event record. The
// caller keeps the rule's state: the runtime library at hooks, the replay over
// a log, a BPF program at kernel-side hooks. Plain C; every loop is bounded; no
// division without a rule that needs one; no floating point under BPF.
//
// Evaluate in this order, and stop at the first no
// (logformat/rules/dump_rule.h):
//   rule->never; countrace_predicate_holds for each predicate; whether the
//   caller lies in the rule's range; countrace_rule_takes_nth with
//   ++state.passed; countrace_rule_is_due. Then store state.last_ns.
// A segment's exit carries a dump if its enter does (open_segments.h).
#ifndef COUNTRACE_RUNTIME_RULES_DUMP_RULE_EVAL_H_
#define COUNTRACE_RUNTIME_RULES_DUMP_RULE_EVAL_H_

#include "logformat/rules/dump_rule.h"

// A payload value of a record. `type` as COUNTRACE_TYPE_* of hook_site.h.
struct countrace_rule_value {
  unsigned char type;
  unsigned long long bits;  // integer, double or pointer
  const char* text;         // of a string, else null
  unsigned long long text_bytes;
};

// The same numbers as in countrace/hook_site.h, which no BPF program includes.
enum countrace_rule_type {
  COUNTRACE_RULE_INT = 1,
  COUNTRACE_RULE_UNSIGNED = 2,
  COUNTRACE_RULE_DOUBLE = 3,
  COUNTRACE_RULE_STRING = 4,
  COUNTRACE_RULE_POINTER = 5
};

static inline int countrace_rule_ordered(unsigned comparison, int less,
                                         int equal) {
  switch (comparison) {
    case COUNTRACE_EQUAL:
      return equal;
    case COUNTRACE_NOT_EQUAL:
      return !equal;
    case COUNTRACE_LESS:
      return less;
    case COUNTRACE_LESS_OR_EQUAL:
      return less || equal;
    case COUNTRACE_GREATER:
      return !less && !equal;
    case COUNTRACE_GREATER_OR_EQUAL:
      return !less;
    default:
      return 0;
  }
}

static inline int countrace_rule_text_holds(
    const struct countrace_predicate* predicate, const char* text,
    unsigned long long bytes) {
  int equal =
      bytes == predicate->text_bytes && bytes <= COUNTRACE_PREDICATE_TEXT_BYTES;
  unsigned i;
  for (i = 0; equal && i < COUNTRACE_PREDICATE_TEXT_BYTES; ++i) {
    if (i >= bytes) break;
    equal = text[i] == predicate->text[i];
  }
  if (predicate->comparison == COUNTRACE_EQUAL) return equal;
  return predicate->comparison == COUNTRACE_NOT_EQUAL && !equal;
}

#ifndef __bpf__
static inline double countrace_rule_as_double(unsigned long long bits) {
  double value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

static inline int countrace_rule_double_holds(
    const struct countrace_predicate* predicate,
    const struct countrace_rule_value* value) {
  const double constant = predicate->constant == COUNTRACE_CONSTANT_DOUBLE
                              ? countrace_rule_as_double(predicate->bits)
                          : predicate->constant == COUNTRACE_CONSTANT_NEGATIVE
                              ? (double)(long long)predicate->bits
                              : (double)predicate->bits;
  const double number = value->type == COUNTRACE_RULE_DOUBLE
                            ? countrace_rule_as_double(value->bits)
                        : value->type == COUNTRACE_RULE_INT
                            ? (double)(long long)value->bits
                            : (double)value->bits;
  if (number != number) return predicate->comparison == COUNTRACE_NOT_EQUAL;
  return countrace_rule_ordered(predicate->comparison, number < constant,
                                number == constant);
}
#endif

// A value of another kind than the constant (text against number) never holds,
// and neither does a value that the hook does not have.
static inline int countrace_predicate_holds(
    const struct countrace_predicate* predicate,
    const struct countrace_rule_value* value) {
  const int is_text = value->type == COUNTRACE_RULE_STRING;
  if (is_text != (predicate->constant == COUNTRACE_CONSTANT_TEXT)) return 0;
  if (is_text) {
    return countrace_rule_text_holds(predicate, value->text, value->text_bytes);
  }
  if (value->type == COUNTRACE_RULE_DOUBLE ||
      predicate->constant == COUNTRACE_CONSTANT_DOUBLE) {
#ifndef __bpf__
    return countrace_rule_double_holds(predicate, value);
#else
    return 0;
#endif
  }
  if (predicate->comparison == COUNTRACE_HAS_BITS) {
    return (value->bits & predicate->bits) != 0;
  }
  const int value_negative =
      value->type == COUNTRACE_RULE_INT && (long long)value->bits < 0;
  const int constant_negative =
      predicate->constant == COUNTRACE_CONSTANT_NEGATIVE;
  // With equal signs, two's complement numbers have the order of unsigned ones.
  const int less = value_negative == constant_negative
                       ? value->bits < predicate->bits
                       : value_negative;
  const int equal =
      value_negative == constant_negative && value->bits == predicate->bits;
  return countrace_rule_ordered(predicate->comparison, less, equal);
}

// Whether the decision is made only at the exit.
static inline int countrace_rule_decides_at_exit(
    const struct countrace_dump_rule* rule) {
  unsigned i;
  for (i = 0; i < COUNTRACE_MAX_PREDICATES; ++i) {
    if (i >= rule->predicate_count) break;
    if (rule->predicates[i].argument == COUNTRACE_ARGUMENT_RET) return 1;
  }
  return 0;
}

// The comparisons with the return value.
static inline int countrace_rule_ret_holds(
    const struct countrace_dump_rule* rule, unsigned long long ret) {
  const struct countrace_rule_value value = {COUNTRACE_RULE_INT, ret, 0, 0};
  unsigned i;
  for (i = 0; i < COUNTRACE_MAX_PREDICATES; ++i) {
    if (i >= rule->predicate_count) break;
    if (rule->predicates[i].argument != COUNTRACE_ARGUMENT_RET) continue;
    if (!countrace_predicate_holds(&rule->predicates[i], &value)) return 0;
  }
  return 1;
}

// True without conditions: each record of the hook carries a dump.
static inline int countrace_rule_is_always(
    const struct countrace_dump_rule* rule) {
  return !rule->never && rule->predicate_count == 0 && rule->caller_end == 0 &&
         rule->every_n <= 1 && rule->min_interval_ns == 0 &&
         rule->every_ticks == 0;
}

// `passed` includes this record.
static inline int countrace_rule_takes_nth(
    const struct countrace_dump_rule* rule, unsigned long long passed) {
  return rule->every_n <= 1 || passed % rule->every_n == 0;
}

static inline int countrace_rule_has_time(
    const struct countrace_dump_rule* rule) {
  return rule->min_interval_ns != 0 || rule->every_ticks != 0;
}

// `last_ns`: time of the last dump, 0 if there was none. A record that is older
// than the last dump (a signal handler came between) is not due.
static inline int countrace_rule_is_due(const struct countrace_dump_rule* rule,
                                        unsigned long long last_ns,
                                        unsigned long long now_ns,
                                        unsigned long long tick_ns) {
  if (last_ns == 0) return 1;
  if (now_ns < last_ns || now_ns - last_ns < rule->min_interval_ns) return 0;
  if (rule->every_ticks != 0) {
    const unsigned long long interval_ns = rule->every_ticks * tick_ns;
    return interval_ns == 0 || now_ns / interval_ns > last_ns / interval_ns;
  }
  return 1;
}

#endif  // COUNTRACE_RUNTIME_RULES_DUMP_RULE_EVAL_H_
