// HOT. Decides which records of kernel hooks carry the counters. Without rules:
// those of the families in `dump_families`; the verifier removes the rest.
//
// Counts and times belong to one hook in one thread. At interrupts and in the
// idle thread they belong to one hook on one CPU. Only that thread, on its CPU,
// uses an entry, so entries are not locked.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_DUMP_RULES_BPF_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_DUMP_RULES_BPF_H_

#include "runtime/recorder/kernel/bpf/programs/ring_writer.bpf.h"
#include "runtime/recorder/kernel/bpf/programs/rule_values.bpf.h"
#include "runtime/rules/kernel_rule_state.h"

// Set before the programs are loaded. Bit f: without rules, records of family f
// carry the counters.
const volatile __u32 dump_families = 0;
const volatile __u8 has_rules = 0;
// 1: a hook has a conditional rule.
const volatile __u8 has_conditions = 0;
const volatile __u64 rule_tick_ns = 0;
// countrace_hook_rule of each hook.
const volatile __u8 hook_rules[COUNTRACE_HOOK_RULES] = {};

struct rule_key {
  __u32 owner;  // tid; or, with OWNER_IS_CPU, a CPU
  __u32 hook;   // 1 + (family << 16 | number); 0: begin of the owner's chain
};
#define OWNER_IS_CPU 0x80000000u

struct rule_entry {
  // `before`: a decision is taken back if the record gets another time.
  struct countrace_kernel_rule_state state, before;
  // Hook of the owner's next entry, 0 at the end. The chain is walked when the
  // thread ends.
  __u64 next;
};

// The recorder sets its size if there are conditional rules.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 1);
  __type(key, struct rule_key);
  __type(value, struct rule_entry);
} rule_entries SEC(".maps");

__u64 rule_entries_refused = 0;
// A rule_entry, as words: skeletons have no structs. Stack would be scarce.
const volatile __u64 new_rule_entry[sizeof(struct rule_entry) / 8] = {};

static __always_inline struct rule_entry* add_rule_entry(
    const struct rule_key* key) {
  const struct rule_key begin = {key->owner, 0};
  const void* const entry = (const void*)new_rule_entry;
  struct rule_entry* first = bpf_map_lookup_elem(&rule_entries, &begin);
  if (!first) {
    bpf_map_update_elem(&rule_entries, &begin, entry, BPF_NOEXIST);
    first = bpf_map_lookup_elem(&rule_entries, &begin);
  }
  if (!first ||
      bpf_map_update_elem(&rule_entries, key, entry, BPF_NOEXIST) != 0) {
    return 0;
  }
  struct rule_entry* added = bpf_map_lookup_elem(&rule_entries, key);
  if (!added) return 0;
  // A program of an interrupt may add an entry at the same time. After four
  // failures the entry stays out of the chain, until its tid is used again for
  // this hook.
  for (int i = 0; i < 4; ++i) {
    const __u64 next = load(first->next);
    added->next = next;
    if (__sync_val_compare_and_swap(&first->next, next, (__u64)key->hook) ==
        next) {
      break;
    }
  }
  return added;
}

static __always_inline void begin_step(struct rule_entry** step,
                                       struct rule_entry* entry) {
  *step = entry;
  entry->before = entry->state;
}

// `step`: null: no state was changed.
static __always_inline void undo_step(struct rule_entry** step) {
  if (!has_conditions || !*step) return;
  (*step)->state = (*step)->before;
  *step = 0;
}

// Whether rule `index` selects a record. Without room for its state, no record
// carries a dump: the exit could not follow the enter.
static __always_inline int ask_rule(__u32 index, const struct rule_key* key,
                                    __u32 place, int asked, __u64 now,
                                    __u64 ret, struct rule_entry** step) {
  const struct countrace_dump_rule* rule =
      bpf_map_lookup_elem(&dump_rules, &index);
  if (!rule) return 0;
  if (place == COUNTRACE_PLACE_EXIT) {
    struct rule_entry* entry = bpf_map_lookup_elem(&rule_entries, key);
    if (!entry) return 0;
    begin_step(step, entry);
    return countrace_kernel_rule_exit(rule, &entry->state, ret, now,
                                      rule_tick_ns);
  }
  if (place == COUNTRACE_PLACE_POINT && !asked) return 0;
  struct rule_entry* entry = bpf_map_lookup_elem(&rule_entries, key);
  if (!entry) entry = add_rule_entry(key);
  if (!entry) {
    __sync_fetch_and_add(&rule_entries_refused, 1);
    return 0;
  }
  begin_step(step, entry);
  if (place == COUNTRACE_PLACE_POINT) {
    return countrace_kernel_rule_point(rule, &entry->state, now, rule_tick_ns);
  }
  return countrace_kernel_rule_enter(rule, &entry->state, asked, now,
                                     rule_tick_ns);
}

// What decides at a hook: COUNTRACE_RULE_DUMP, 0, or COUNTRACE_RULE_ASK + the
// index of a rule.
static __always_inline __u32 rule_of(__u32 family, __u32 number) {
  if (!has_rules) {
    return dump_families >> family & 1 ? COUNTRACE_RULE_DUMP : 0;
  }
  number &= 0xffff;  // as in the record
  const __u32 last = COUNTRACE_RULED_NUMBERS - 1;
  __u64 at = family * COUNTRACE_RULED_NUMBERS + (number < last ? number : last);
  // The verifier of Linux 6.1 loses the bound where the compiler copies
  // `number`. This gives it a bound that the compiler cannot remove.
  __asm__ volatile("" : "+r"(at));
  return hook_rules[at & (COUNTRACE_HOOK_RULES - 1)];
}

// Whether `if` and `from` of the hook's rule hold at an enter or point.
static __always_inline int conditions_hold(__u32 answer,
                                           const struct hook_values* values) {
  if (!has_conditions || answer < COUNTRACE_RULE_ASK) return 1;
  return values->sources == COUNTRACE_SOURCES_NONE ||
         values_hold(answer - COUNTRACE_RULE_ASK, values);
}

// `asked`: conditions_hold().
static __always_inline int carries_dump(__u32 answer, __u32 family, __u32 place,
                                        __u32 number, __u32 tid, int asked,
                                        __u64 now, __u64 ret,
                                        struct rule_entry** step) {
  if (!has_conditions || answer < COUNTRACE_RULE_ASK) {
    return answer == COUNTRACE_RULE_DUMP;
  }
  const __u32 of_cpu = !tid || family == COUNTRACE_FAMILY_IRQ ||
                       family == COUNTRACE_FAMILY_VECTOR ||
                       family == COUNTRACE_FAMILY_SOFTIRQ;
  const struct rule_key key = {
      of_cpu ? OWNER_IS_CPU | bpf_get_smp_processor_id() : tid,
      1 + (family << 16 | (number & 0xffff))};
  return ask_rule(answer - COUNTRACE_RULE_ASK, &key, place, asked, now, ret,
                  step);
}

// --- Threads that end --------------------------------------------------------

static long forget_entry(__u32 step, void* context) {
  struct rule_key* at = context;
  const struct rule_key key = *at;
  const struct rule_entry* entry = bpf_map_lookup_elem(&rule_entries, &key);
  if (!entry) return 1;
  at->hook = (__u32)entry->next;
  bpf_map_delete_elem(&rule_entries, &key);
  return at->hook == 0;
}

// Called for a thread that ends and for one that begins: the tid's earlier
// thread may have hit hooks after its exit record.
static __always_inline void forget_rules_of(__u32 tid) {
  if (!has_conditions) return;
  struct rule_key at = {tid, 0};
  bpf_loop(COUNTRACE_HOOK_FAMILIES * COUNTRACE_RULED_NUMBERS, forget_entry, &at,
           0);
}

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_DUMP_RULES_BPF_H_
