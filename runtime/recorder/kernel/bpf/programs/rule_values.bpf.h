// HOT with a conditional rule, or a hook whose records have values. The values
// that dump rules compare at a kernel-side hook: the arguments of the code, and
// its caller; and those that are stored.
//
// A value that cannot be read (its page is not in memory) does not hold. A
// caller that cannot be looked up, because the process is changing its
// mappings, is counted.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_RULE_VALUES_BPF_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_RULE_VALUES_BPF_H_

#include "runtime/recorder/kernel/bpf/programs/ring_writer.bpf.h"
#include "runtime/recorder/kernel/hooks/argument_source.h"

// Before its definition: a call of it would need a frame of its own.
struct countrace_predicate;
struct countrace_rule_value;
static __always_inline int countrace_predicate_holds(
    const struct countrace_predicate* predicate,
    const struct countrace_rule_value* value);
#include "runtime/rules/dump_rule_eval.h"

// Set before the programs are loaded.
// 1: a conditional rule has `if` with an argument, or `from`.
const volatile __u8 asks_values = 0;
const volatile __u8 asks_callers = 0;
// 1: the records of a hook have values.
const volatile __u8 stores_values = 0;
const volatile __u32 page_shift = 12;

// Filled before the programs are attached.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, COUNTRACE_MAX_DUMP_RULES);
  __type(key, __u32);
  __type(value, struct countrace_dump_rule);
} dump_rules SEC(".maps");

// countrace_sources_index
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, COUNTRACE_SOURCES_LISTED);
  __type(key, __u32);
  __type(value, struct countrace_argument_sources);
} argument_sources SEC(".maps");

__u64 callers_unknown = 0;

// The data that a program has at its hook.
struct hook_values {
  const void* handed;  // registers, or the tracepoint's fields
  __u32 sources;       // countrace_sources_index
  __u64 ret;           // at an exit
  const __u64* block;  // of a block point: its values
};

// The verifier of Linux 6.1 loses the bound of a value on the stack. This gives
// it a bound that the compiler can neither move nor remove.
#define AT_MOST_15(size) __asm__ volatile("%0 &= 15" : "+r"(size))
#define AT_MOST_63(size) __asm__ volatile("%0 &= 63" : "+r"(size))
#define AT_MOST_255(size) __asm__ volatile("%0 &= 255" : "+r"(size))

static __always_inline int read_value(
    const struct countrace_value_source* source, const void* handed,
    struct countrace_rule_value* value) {
  const __u64 bytes = source->bytes;
  if (bytes == 0 || bytes > 8) return 0;
  __u64 read[2] = {};
  __u64 size = bytes;
  if (source->place == COUNTRACE_VALUE_CONSTANT) {
    read[0] = source->displacement;
  } else if (source->place == COUNTRACE_VALUE_HANDED) {
    AT_MOST_15(size);
    if (bpf_probe_read_kernel(read, size, handed + source->offset) != 0) {
      return 0;
    }
    read[0] += source->displacement;
  } else if (source->place == COUNTRACE_VALUE_IN_MEMORY) {
    __u64 at = 0, index = 0;
    bpf_probe_read_kernel(&at, sizeof(at), handed + source->offset);
    if (source->index_offset != COUNTRACE_NO_INDEX) {
      bpf_probe_read_kernel(&index, sizeof(index),
                            handed + source->index_offset);
    }
    at += (index << (source->index_shift & 3)) + source->displacement;
    AT_MOST_15(size);
    if (bpf_probe_read_user(read, size, (const void*)at) != 0) return 0;
  } else {
    return 0;
  }
  __u64 bits = read[0];
  // All machines with these programs are little-endian.
  const __u64 unused = 64 - 8 * bytes;
  bits <<= unused;
  value->bits =
      source->is_signed ? (__u64)((long long)bits >> unused) : bits >> unused;
  value->type =
      source->is_signed ? COUNTRACE_RULE_INT : COUNTRACE_RULE_UNSIGNED;
  return 1;
}

// --- Stored values -----------------------------------------------------------

// The values that the hook's records have; null: none.
static __always_inline const struct countrace_stored_values* stored_at(
    __u32 index) {
  if (!stores_values || index == COUNTRACE_SOURCES_NONE) return 0;
  const struct countrace_argument_sources* sources =
      bpf_map_lookup_elem(&argument_sources, &index);
  return sources && sources->stored.count ? &sources->stored : 0;
}

static __always_inline int read_text(__u32 kind, char* slot,
                                     const struct countrace_value_source* from,
                                     const void* handed, __u64 value) {
  __u64 size = COUNTRACE_TEXT_BYTES + 2;
  // No one says whose memory an argument of a kernel function is in.
  if (kind == COUNTRACE_TEXT_USER ||
      (kind == COUNTRACE_TEXT_KERNEL && (long long)value > 0)) {
    return value ? bpf_probe_read_user_str(slot, size, (const void*)value) : 0;
  }
  if (kind == COUNTRACE_TEXT_KERNEL) {
    return value ? bpf_probe_read_kernel_str(slot, size, (const void*)value)
                 : 0;
  }
  const int data_loc =
      kind == COUNTRACE_TEXT_DATA_LOC || kind == COUNTRACE_TEXT_DATA_LOC_HEX;
  const __u64 length = data_loc ? value >> 16 & 0xffff : from->bytes;
  const void* at = handed + (data_loc ? value & 0xffff : from->offset);
  if (kind >= COUNTRACE_TEXT_HANDED_HEX) {
    size = COUNTRACE_TEXT_BYTES / 2;
    if (length < size) size = length;
    AT_MOST_255(size);
    return bpf_probe_read_kernel(slot, size, at)
               ? -1
               : (int)(size | COUNTRACE_TEXT_IS_HEX);
  }
  if (length + 1 < size) size = length + 1;  // with the NUL
  AT_MOST_255(size);
  return bpf_probe_read_kernel_str(slot, size, at);
}

// Writes the slots, or the window, to `to`, which has room for all. Returns
// which values could not be read.
static __noinline __u64
store_values(char* to, const struct countrace_stored_values* stored,
             const void* handed) {
  __u64 unreadable = 0;
  __u64 window = stored->window_bytes;
  if (window) {
    AT_MOST_63(window);
    const int error =
        bpf_probe_read_kernel(to, window, handed + stored->window_at);
    return error ? (1ull << stored->count) - 1 : 0;
  }
  for (int i = 0; i < COUNTRACE_STORED_VALUES; ++i) {
    if (i >= stored->count) break;
    const __u64 at = stored->at[i] & ~7ull;
    if (at > (COUNTRACE_STORED_VALUES - 1) * COUNTRACE_TEXT_ROOM) break;
    const struct countrace_value_source* from = &stored->values[i];
    const __u32 kind = stored->text[i];
    struct countrace_rule_value value = {};
    const int known = kind == COUNTRACE_TEXT_HANDED ||
                      kind == COUNTRACE_TEXT_HANDED_HEX ||
                      read_value(from, handed, &value);
    if (kind == COUNTRACE_TEXT_NONE) {
      *(__u64*)(to + at) = value.bits;
      if (!known) unreadable |= 1ull << i;
      continue;
    }
    const int read =
        known ? read_text(kind, to + at, from, handed, value.bits) : -1;
    *(int*)(to + at + COUNTRACE_TEXT_ROOM - sizeof(read)) = read;
    if (read < 0) unreadable |= 1ull << i;
  }
  return unreadable;
}

// --- The caller --------------------------------------------------------------

struct caller_search {
  __u64 address;
  __u32 rule;
  int found;
};

// "libfoo.so" names libfoo.so and libfoo.so.1.2, as in the runtime library.
static __always_inline int is_named(const char* file, const char* wanted) {
  for (int i = 0; i < COUNTRACE_RULE_CALLER_BYTES; ++i) {
    if (!wanted[i]) return !file[i] || file[i] == '.';
    if (file[i] != wanted[i]) return 0;
  }
  return 0;
}

static long look_at_mapping(struct task_struct* task,
                            struct vm_area_struct* mapping,
                            struct caller_search* search) {
  const __u32 index = search->rule;
  const struct countrace_dump_rule* rule =
      bpf_map_lookup_elem(&dump_rules, &index);
  if (!rule) return 0;
  char name[COUNTRACE_RULE_CALLER_BYTES] = {};
  const unsigned char* const at =
      BPF_CORE_READ(mapping, vm_file, f_path.dentry, d_name.name);
  if (!at || bpf_probe_read_kernel_str(name, sizeof(name), at) < 0) return 0;
  if (!is_named(name, rule->caller)) return 0;
  const __u64 offset = search->address - BPF_CORE_READ(mapping, vm_start) +
                       (BPF_CORE_READ(mapping, vm_pgoff) << page_shift);
  search->found = offset >= rule->caller_begin && offset < rule->caller_end;
  return 0;
}

// For a named object, offsets are bytes of its file (kernel_hook_rules.h), so
// its load address does not matter.
static __always_inline int is_from(const struct countrace_dump_rule* rule,
                                   __u32 index, __u64 caller) {
  if (!rule->caller[0]) {
    return caller >= rule->caller_begin && caller < rule->caller_end;
  }
  struct caller_search search = {caller, index, 0};
  const long error = bpf_find_vma(bpf_get_current_task_btf(), caller,
                                  look_at_mapping, &search, 0);
  // -EBUSY: another thread holds the lock of the mappings.
  if (error == -16) __sync_fetch_and_add(&callers_unknown, 1);
  return error == 0 && search.found;
}

// --- Both --------------------------------------------------------------------

// Evaluates `if`, without `ret` (evaluated at the exit) and `number` (evaluated
// when the recording began), and `from`. Not inline, as begin_record().
static __noinline int values_hold(__u32 index, const struct hook_values* hook) {
  if (!asks_values) return 1;
  const struct countrace_dump_rule* rule =
      bpf_map_lookup_elem(&dump_rules, &index);
  const __u32 at = hook->sources;
  const struct countrace_argument_sources* sources =
      bpf_map_lookup_elem(&argument_sources, &at);
  if (!rule || !sources) return 0;
#pragma unroll
  for (int i = 0; i < COUNTRACE_MAX_PREDICATES; ++i) {
    if (i >= rule->predicate_count) break;
    const struct countrace_predicate* predicate = &rule->predicates[i];
    __u64 argument = predicate->argument;
    // The verifier of Linux 6.1 may lose the bound where the compiler copies
    // it.
    __asm__ volatile("" : "+r"(argument));
    if (argument >= COUNTRACE_ARGUMENTS) continue;
    struct countrace_rule_value value = {};
    if (!read_value(&sources->arguments[argument], hook->handed, &value) ||
        !countrace_predicate_holds(predicate, &value)) {
      return 0;
    }
  }
  if (!asks_callers || !rule->caller_end) return 1;
  struct countrace_rule_value caller = {};
  // One byte before: a call may be the last instruction of its function.
  return read_value(&sources->caller, hook->handed, &caller) &&
         is_from(rule, index, caller.bits - 1);
}

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_RULE_VALUES_BPF_H_
