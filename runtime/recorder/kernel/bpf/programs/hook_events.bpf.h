// Kernel segments and dynamic hooks: system calls, page faults, and the hooks
// of the recorder's list (uprobes, USDT probes, tracepoints).
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_HOOK_EVENTS_BPF_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_HOOK_EVENTS_BPF_H_

#include "base/posix/own_call_mark.h"
#include "runtime/recorder/kernel/bpf/programs/call_arguments.bpf.h"
#include "runtime/recorder/kernel/bpf/programs/dump_rules.bpf.h"
#include "runtime/recorder/kernel/bpf/programs/hidden_switches.bpf.h"
#include "runtime/recorder/kernel/bpf/programs/marked_processes.bpf.h"
#include "runtime/recorder/kernel/bpf/programs/ring_writer.bpf.h"

// Interrupts belong to no process: they are unmarked, also in a marked process
// (an interrupt clears MSR(PM)). Marked processes' dispatches need them too, to
// subtract their counts.
static __always_inline int is_counted_in(__u32 family, __u32 pid) {
  if (count_unmarked &&
      (family == COUNTRACE_FAMILY_IRQ || family == COUNTRACE_FAMILY_VECTOR ||
       family == COUNTRACE_FAMILY_SOFTIRQ)) {
    return 1;
  }
  return is_counted(pid);
}

// Whether the hook is hit by a step of the recorder's child before it becomes
// the command. Its execve is the command's, as in strace.
static __always_inline int is_before_exec(__u32 family, __u32 number,
                                          __u32 pid) {
  if (!starting_pid || starting_pid != pid) return 0;
  if (family == COUNTRACE_FAMILY_SYSCALL && number == execve_number) {
    starting_pid = 0;
  }
  return starting_pid && (family == COUNTRACE_FAMILY_FAULT ||
                          family == COUNTRACE_FAMILY_LISTED ||
                          family == COUNTRACE_FAMILY_SYSCALL);
}

// A record of a hook that is being written. Small: it is on the stack.
struct hook_record {
  __u64 now;
  __u16 number;
  __u16 value_bytes;  // behind the counters and the return value
  __u16 rule;         // rule_of()
  __u8 family, where;
  __u8 asked;     // conditions_hold()
  __u8 counters;  // 0: it carries no dump
};

// Reserves room for the record, and writes all of it but its values. Null: it
// is lost, and counted. Not inline: together with store_values() and
// make_values() it must not use more stack than Linux 6.1 has for all functions
// that call each other.
static __noinline __u64* begin_record(struct countrace_ring_control* control,
                                      __u64 ids, struct hook_record* made,
                                      __u64 ret) {
  if (!control) return 0;
  const int block = made->where == COUNTRACE_PLACE_BLOCK;
  const __u32 exit = made->where == COUNTRACE_PLACE_EXIT;
  __u64 dumped[COUNTRACE_MAX_COUNTERS] = {};
  __u64* record = 0;
  __u32 counters = 0;
  struct place place = {};
  struct rule_entry* step = 0;
  enum reserved result = RESERVE_AGAIN;
  // Rules decide by the record's time, which is another one in each try.
  for (int i = 0; i < 4 && result == RESERVE_AGAIN; ++i) {
    undo_step(&step);
    place = next_place(control);
    const int dump = carries_dump(
        made->rule, made->family, block ? COUNTRACE_PLACE_POINT : made->where,
        made->number, (__u32)ids, made->asked, place.now, ret, &step);
    counters = dump ? counter_count : 0;
    if (counters > COUNTRACE_MAX_COUNTERS) return 0;
    if (dump) store_counters(control, dumped, place.now);
    const __u32 bytes = 16 + 8 * counters + 8 * exit + made->value_bytes;
    result = reserve_at(control, bytes, &place, &record);
  }
  if (result != RESERVED || !record) {
    __sync_fetch_and_add(&control->lost, 1);
    return 0;
  }
  record[1] = (ids & 0xffffff) | (ids >> 32 & 0xffffff) << 24 |
              (__u64)made->number << 48;
  for (__u32 i = 0; i < COUNTRACE_MAX_COUNTERS; ++i) {
    if (i >= counters) break;
    record[2 + i] = dumped[i];
  }
  if (exit) record[2 + counters] = ret;
  made->now = place.now;
  made->counters = counters;
  return record;
}

// Writes a record of a hook, unless the process on the CPU is not counted.
static __always_inline int hook_event_with(__u32 family, __u32 where,
                                           __u32 number,
                                           const struct hook_values* values) {
  struct countrace_ring_control* control = this_control();
  if (!is_recording(control)) return 0;
  note_who_runs(control);
  const __u64 ids = current_ids();
  if (!is_counted_in(family, ids >> 32)) return 0;
  if (is_before_exec(family, number, ids >> 32)) return 0;
  const int block = where == COUNTRACE_PLACE_BLOCK;
  const __u32 exit = where == COUNTRACE_PLACE_EXIT;
  const struct countrace_stored_values* stored =
      block ? 0 : stored_at(values->sources);
  struct call_values* called = 0;
  const __u64 called_bytes =
      family == COUNTRACE_FAMILY_SYSCALL
          ? store_call_values(exit, number, values->handed, (__u32)ids,
                              values->ret, &called)
          : 0;
  struct hook_record made = {.family = family,
                             .where = where,
                             .number = number,
                             .value_bytes = called_bytes,
                             .rule = rule_of(family, number),
                             .asked = 1};
  if (!exit) made.asked = conditions_hold(made.rule, values);
  if (block) made.value_bytes = 8 * COUNTRACE_BLOCK_VALUES;
  if (stored) made.value_bytes = 8 + stored->bytes;
  __u64* const record = begin_record(control, ids, &made, values->ret);
  if (!record) return 0;
  __u32 at = made.counters;
  // As begin_record() ensures; the verifier has not kept it.
  if (at > COUNTRACE_MAX_COUNTERS) return 0;
  at += 2 + exit;
  if (block && values->block) {
    record[at] = values->block[0];
    record[at + 1] = values->block[1];
    record[at + 2] = values->block[2];
  }
  if (stored) {
    __u64* to = record + at;
    const __u64 unreadable =
        store_values((char*)(to + 1), stored, values->handed);
    to[0] = stored->count | (__u64)stored->texts << 8 | unreadable << 16;
  }
  if (called && called_bytes) {
    bpf_probe_read_kernel(record + at, called_bytes & MOST_VALUE_BYTES,
                          called->words);
  }
  commit(record,
         (COUNTRACE_EVENT_HOOK + 4 * family + where) |
             (made.counters ? COUNTRACE_EVENT_DUMP : 0) |
             (stored ? COUNTRACE_EVENT_VALUES : 0) |
             (called_bytes ? COUNTRACE_EVENT_CALL_VALUES : 0),
         made.now);
  return 0;
}

// For hooks without conditional rules. `ret`: the return value, at an exit.
static __always_inline int hook_event(__u32 family, __u32 place, __u32 number,
                                      __u64 ret) {
  const struct hook_values values = {0, COUNTRACE_SOURCES_NONE, ret};
  return hook_event_with(family, place, number, &values);
}

// --- System calls ------------------------------------------------------------

// The numbers of a 32-bit program name other system calls.
static __always_inline __u32 syscall_family(void) {
#ifdef __TARGET_ARCH_x86
  const struct task_struct* task = bpf_get_current_task_btf();
  if (task->thread_info.status & 2) {  // TS_COMPAT
    return COUNTRACE_FAMILY_COMPAT_SYSCALL;
  }
#endif
  return COUNTRACE_FAMILY_SYSCALL;
}

static __always_inline int syscall_event(__u32 place, long number, long ret,
                                         const void* registers) {
  if (syscall_family() == COUNTRACE_FAMILY_COMPAT_SYSCALL) {
    const struct hook_values values = {registers,
                                       COUNTRACE_SOURCES_COMPAT_SYSCALL, ret};
    return hook_event_with(COUNTRACE_FAMILY_COMPAT_SYSCALL, place, number,
                           &values);
  }
#ifdef __TARGET_ARCH_x86
  // uretprobe(2) and uprobe(2): the kernel's own way into a probe's program.
  // The program did not call them. The exit has no number, and ends no call.
  if (number == 335 || number == 336) return 0;
#endif
  const struct hook_values values = {registers, COUNTRACE_SOURCES_SYSCALL, ret};
  return hook_event_with(COUNTRACE_FAMILY_SYSCALL, place, number, &values);
}

// A call of libcountrace-runtime, not of the program (base/posix/own_call.h).
static __always_inline int is_own_call(const struct pt_regs___syscall* regs) {
#if defined(__TARGET_ARCH_x86)
  if (regs->r12 != COUNTRACE_OWN_CALL_MARK) return 0;
  __u32 word = 0;  // behind the opcode of nopl
  return bpf_probe_read_user(&word, sizeof(word), (void*)(regs->ip + 3)) == 0 &&
         word == COUNTRACE_OWN_CALL_NOP;
#elif defined(__TARGET_ARCH_arm64)
  if (regs->regs[19] != COUNTRACE_OWN_CALL_MARK) return 0;
  __u32 movz = 0;
  return bpf_probe_read_user(&movz, sizeof(movz), (void*)regs->pc) == 0 &&
         movz == (0xd280001f | COUNTRACE_OWN_CALL_MOVZ << 5);
#else
  return 0;
#endif
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_syscall_enter, struct pt_regs___syscall* regs, long number) {
  if (is_own_call(regs)) return 0;
  return syscall_event(COUNTRACE_PLACE_ENTER, number, 0, regs);
}

// The number is -1 after rt_sigreturn, which restored the registers.
SEC("tp_btf/sys_exit")
int BPF_PROG(on_syscall_exit, struct pt_regs___syscall* regs, long ret) {
#if defined(__TARGET_ARCH_x86)
  const int number = (int)regs->orig_ax;
#elif defined(__TARGET_ARCH_arm64)
  const int number = regs->syscallno;
#else
  const int number = (int)regs->gpr[0];
#endif
  if (number >= 0 && is_own_call(regs)) return 0;
  note_rename(number);
  return syscall_event(COUNTRACE_PLACE_EXIT, number, ret, regs);
}

// --- Page faults -------------------------------------------------------------

#ifdef __TARGET_ARCH_x86
// `handed`: the tracepoint's arguments: address, registers, error code.
static __always_inline int fault_enter(const void* handed, __u32 in_kernel) {
  const struct hook_values values = {handed, COUNTRACE_SOURCES_FAULT, 0};
  return hook_event_with(COUNTRACE_FAMILY_FAULT, COUNTRACE_PLACE_ENTER,
                         in_kernel, &values);
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(on_user_fault_enter, unsigned long address) {
  return fault_enter(ctx, 0);
}

// Faults on user memory that the kernel handles. The others are not page faults
// but accesses that are allowed to fail: of samples and BPF programs that read
// a thread's stack, also in interrupts, and of futexes.
SEC("tp_btf/page_fault_kernel")
int BPF_PROG(on_kernel_fault_enter, unsigned long address) {
  const struct task_struct* task = bpf_get_current_task_btf();
  if ((long)address < 0 || !task->mm || task->pagefault_disabled) {
    return 0;
  }
  return fault_enter(ctx, 1);
}

// Attached to software events minor-faults and major-faults with period 1 on
// each CPU, which the kernel counts after it has handled a fault
// (mm_account_fault). The cookie is the part of the fault handler's return
// value that matters.
SEC("perf_event")
int on_fault_exit(struct bpf_perf_event_data* data) {
  // The whole word: the verifier refuses a narrower access.
  const __u64 code_segment = *(volatile __u64*)&data->regs.cs;
  const __u32 in_kernel = (code_segment & 3) == 0;
  return hook_event(COUNTRACE_FAMILY_FAULT, COUNTRACE_PLACE_EXIT, in_kernel,
                    bpf_get_attach_cookie(data));
}
#endif

// --- Hooks of the list -------------------------------------------------------

// The cookie of an attachment: its countrace_sources_index << 32, index in the
// list * 4 + place.
static __always_inline int listed_event(__u64 cookie, const void* handed,
                                        __u64 ret) {
  const struct hook_values values = {handed, cookie >> 32, ret};
  return hook_event_with(COUNTRACE_FAMILY_LISTED, cookie & 3,
                         (__u32)cookie >> 2 & 0xffff, &values);
}

// Where the kernel can, loaded to be attached to many places at once
// (uprobe_multi.h).
SEC("uprobe")
int on_user_probe(struct pt_regs* regs) {
  return listed_event(bpf_get_attach_cookie(regs), regs, PT_REGS_RC(regs));
}

// --- Functions of the kernel -------------------------------------------------

// `ret`, of which the cookie says how many bits the function's type has.
static __always_inline __u64 typed_ret(__u64 cookie, __u64 ret) {
  const __u32 bits = cookie >> COUNTRACE_COOKIE_RET_SHIFT & 127;
  if (!bits || bits > 64) return 0;
  ret <<= 64 - bits;
  return cookie & COUNTRACE_COOKIE_RET_SIGNED
             ? (__u64)((long long)ret >> (64 - bits))
             : ret >> (64 - bits);
}

// Patterns: function_programs.h loads a copy for each function. Their context
// is an array of arguments, of 64 bits each.
SEC("fentry")
int on_function_enter(void* context) {
  return listed_event(bpf_get_attach_cookie(context), context, 0);
}

SEC("fexit")
int on_function_exit(void* context) {
  const __u64 cookie = bpf_get_attach_cookie(context);
  __u64 ret = 0;
  bpf_get_func_ret(context, &ret);
  return listed_event(cookie, context, typed_ret(cookie, ret));
}

SEC("kprobe")
int on_kernel_probe(struct pt_regs* regs) {
  const __u64 cookie = bpf_get_attach_cookie(regs);
  const __u64 arguments[COUNTRACE_FUNCTION_ARGUMENTS] = {
      PT_REGS_PARM1(regs), PT_REGS_PARM2(regs), PT_REGS_PARM3(regs),
      PT_REGS_PARM4(regs), PT_REGS_PARM5(regs)};
  return listed_event(cookie, arguments, typed_ret(cookie, PT_REGS_RC(regs)));
}

// --- Tracepoints -------------------------------------------------------------

// Offsets of the fields of block:block_rq_issue and block_rq_complete: dev,
// sector, nr_sector. Set before the programs are loaded.
const volatile __u32 block_fields[COUNTRACE_BLOCK_VALUES] = {};

SEC("tracepoint")
int on_tracepoint(void* context) {
  const __u64 cookie = bpf_get_attach_cookie(context);
  struct hook_values values = {context, cookie >> 32, 0};
  __u64 block[COUNTRACE_BLOCK_VALUES] = {};
  if ((cookie & 3) == COUNTRACE_PLACE_BLOCK) {
    bpf_probe_read_kernel(&block[0], 4, context + block_fields[0]);
    bpf_probe_read_kernel(&block[1], 8, context + block_fields[1]);
    bpf_probe_read_kernel(&block[2], 4, context + block_fields[2]);
    values.block = block;
  }
  return hook_event_with(COUNTRACE_FAMILY_LISTED, cookie & 3,
                         (__u32)cookie >> 2, &values);
}

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_HOOK_EVENTS_BPF_H_
