// HOT with --args. Values of system calls: their arguments, the files of their
// descriptors, and their texts. Kernel side of syscall_arguments.h.
//
// A text whose page is not in memory at the enter is read at the exit: the
// kernel has read it then. What execve was given is gone at its exit, but the
// new program's memory has a copy.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_CALL_ARGUMENTS_BPF_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_CALL_ARGUMENTS_BPF_H_

#include "runtime/recorder/kernel/bpf/programs/file_names.bpf.h"
#include "runtime/recorder/kernel/bpf/programs/ring_writer.bpf.h"

// Set before the programs are loaded: --args.
const volatile __u8 stores_arguments = 0;
// countrace_call_layout of each call: read as a word, loops over it are
// unrolled.
const volatile __u64 call_layouts[COUNTRACE_CALLS] = {};

// A call's arguments, and the value part of its record (kernel_ring.h), built
// here since its length is not known before.
struct call_values {
  __u64 arguments[COUNTRACE_CALL_ARGUMENTS];
  // Behind what is stored so far, its head word, and texts in it. They are here
  // as the verifier has more states with them in variables.
  __u64 bytes, head, text_count;
  __u64 words[16];  // at most 13 are used
  char texts[640];  // what has begun below 512 fits
};
#define MOST_VALUE_BYTES 511
// One for the enters of this CPU, one for the exits.
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 2);
  __type(key, __u32);
  __type(value, struct call_values);
} call_values SEC(".maps");

// By tid: which texts of its call were unreadable at the enter (bit i: argument
// i).
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 65536);
  __type(key, __u32);
  __type(value, __u32);
} unread_texts SEC(".maps");
// Its elements: without any, exits need not look.
__u64 unread_calls = 0;

static __always_inline void forget_unread(__u32 tid) {
  if (!stores_arguments || !load(unread_calls)) return;
  if (bpf_map_delete_elem(&unread_texts, &tid) == 0) {
    __sync_fetch_and_add(&unread_calls, -1);
  }
}

static __always_inline void copy_arguments(const struct pt_regs___syscall* regs,
                                           __u64* to) {
#if defined(__TARGET_ARCH_x86)
  to[0] = regs->di;
  to[1] = regs->si;
  to[2] = regs->dx;
  to[3] = regs->r10;
  to[4] = regs->r8;
  to[5] = regs->r9;
#elif defined(__TARGET_ARCH_arm64)
  to[0] = regs->orig_x0;
  for (int i = 1; i < COUNTRACE_CALL_ARGUMENTS; ++i) to[i] = regs->regs[i];
#else
  to[0] = regs->orig_gpr3;
  for (int i = 1; i < COUNTRACE_CALL_ARGUMENTS; ++i) to[i] = regs->gpr[3 + i];
#endif
}

static __always_inline void add_word(struct call_values* out, __u64 word) {
  __u64 at = out->bytes >> 3;
  __asm__ volatile("%0 &= 15" : "+r"(at));
  out->words[at] = word;
  out->bytes += 8;
}

// Returns: whether it could be read.
static __always_inline int add_text(struct call_values* out, __u64 address) {
  __u64 at = out->bytes;
  __asm__ volatile("%0 &= 511" : "+r"(at));
  long bytes = 0;
  if (address) {
    bytes = bpf_probe_read_user_str((char*)out->words + at,
                                    COUNTRACE_CALL_TEXT_BYTES,
                                    (const void*)address);
  }
  const __u64 said = bytes < 0 ? COUNTRACE_CALL_UNREADABLE : bytes;
  out->head |= said << (16 + 16 * (out->text_count & 3));
  out->text_count += 1;
  if (bytes > 0) out->bytes += bytes;
  return bytes >= 0;
}

// `bytes` of memory as they are. Returns: whether they could be read.
static __always_inline int add_bytes(struct call_values* out, __u64 address,
                                     __u64 bytes, __u64 most) {
  __u64 at = out->bytes;
  __asm__ volatile("%0 &= 511" : "+r"(at));
  if (!address) bytes = 0;
  if (bytes > most) bytes = most;
  __asm__ volatile("%0 &= 255" : "+r"(bytes));
  const long error = bytes ? bpf_probe_read_user((char*)out->words + at, bytes,
                                                 (const void*)address)
                           : 0;
  const __u64 said = error ? COUNTRACE_CALL_UNREADABLE : bytes;
  out->head |= said << (16 + 16 * (out->text_count & 3));
  out->text_count += 1;
  if (!error) out->bytes += bytes;
  return !error;
}

// The arguments of a new program, which the kernel has just written.
static __always_inline void add_argv(struct call_values* out) {
  const struct mm_struct* const memory =
      BPF_CORE_READ(bpf_get_current_task_btf(), mm);
  const __u64 begin = BPF_CORE_READ(memory, arg_start);
  add_bytes(out, begin, BPF_CORE_READ(memory, arg_end) - begin,
            COUNTRACE_CALL_TEXT_BYTES);
}

// The address of a socket that the kernel has written.
static __always_inline void add_given(struct call_values* out, __u64 address,
                                      __u64 length_at) {
  __u32 length = 0;
  if (address) {
    bpf_probe_read_user(&length, sizeof(length), (const void*)length_at);
  }
  add_bytes(out, address, length, COUNTRACE_CALL_ADDRESS_BYTES);
}

// Returns the bytes to store of `words`: a multiple of 8.
static __always_inline __u64 end_values(struct call_values* out) {
  const __u64 bytes = (out->bytes + 7) & ~7ull;
  out->words[0] = out->head | bytes;
  return bytes;
}

#define NEXT(i) ((i) + 1 < COUNTRACE_CALL_ARGUMENTS ? (i) + 1 : 0)

// Loops are unrolled: Linux 6.1 refuses a loop that another instruction than a
// jump closes, which is the compiler's choice.
static __always_inline __u64
store_enter(const struct countrace_call_layout* layout, __u32 tid,
            struct call_values* out) {
  const __u64* const arguments = out->arguments;
#pragma unroll
  for (int i = 0; i < COUNTRACE_CALL_ARGUMENTS; ++i) {
    if (i < layout->count) add_word(out, arguments[i]);
  }
#pragma unroll
  for (int i = 0; i < COUNTRACE_CALL_ARGUMENTS; ++i) {
    if (layout->kinds[i] == COUNTRACE_CALL_FD) {
      add_word(out, file_number((int)arguments[i]));
    }
  }
  __u32 unread = 0;
#pragma unroll
  for (int i = 0; i < COUNTRACE_CALL_ARGUMENTS; ++i) {
    const __u32 kind = layout->kinds[i];
    int read = 1;
    if (kind == COUNTRACE_CALL_TEXT) {
      read = add_text(out, arguments[i]);
    } else if (kind == COUNTRACE_CALL_ADDRESS) {
      read = add_bytes(out, arguments[i], (__u32)arguments[NEXT(i)],
                       COUNTRACE_CALL_ADDRESS_BYTES);
    }
    if (!read) unread |= 1u << i;
  }
  // A call before that never ended may have left an element.
  if (unread) {
    if (bpf_map_update_elem(&unread_texts, &tid, &unread, BPF_NOEXIST) == 0) {
      __sync_fetch_and_add(&unread_calls, 1);
    } else {
      bpf_map_update_elem(&unread_texts, &tid, &unread, BPF_EXIST);
    }
  }
  return end_values(out);
}

static __always_inline __u64
store_exit(const struct countrace_call_layout* layout, __u32 tid, long ret,
           struct call_values* out) {
  __u32 unread = 0;
  if (load(unread_calls)) {
    const __u32* found = bpf_map_lookup_elem(&unread_texts, &tid);
    if (found) unread = *found;
    forget_unread(tid);
  }
  const __u32 results = layout->results;
  if (results & COUNTRACE_RETURNS_FD) {
    add_word(out, ret >= 0 ? file_number((int)ret) : 0);
  }
  const int executed = results & COUNTRACE_EXECUTES && ret == 0;
#pragma unroll
  for (int i = 0; i < COUNTRACE_CALL_ARGUMENTS; ++i) {
    const __u32 kind = layout->kinds[i];
    if (kind < COUNTRACE_CALL_ADDRESS && kind != COUNTRACE_CALL_TEXT) continue;
    if (executed && kind == COUNTRACE_CALL_ARGV) {
      add_argv(out);
    } else if (executed) {
      // The kernel puts the program's name behind the environment.
      add_text(out, BPF_CORE_READ(bpf_get_current_task_btf(), mm, env_end));
    } else if (kind == COUNTRACE_CALL_GIVEN_ADDRESS && ret >= 0) {
      add_given(out, out->arguments[i], out->arguments[NEXT(i)]);
    } else if (unread & 1u << i && kind == COUNTRACE_CALL_ADDRESS) {
      add_bytes(out, out->arguments[i], (__u32)out->arguments[NEXT(i)],
                COUNTRACE_CALL_ADDRESS_BYTES);
    } else if (unread & 1u << i) {
      add_text(out, out->arguments[i]);
    } else {
      out->text_count += 1;
    }
  }
  return end_values(out);
}

// The layout of a call, as the word that it is.
static __always_inline __u64 layout_word(__u32 number) {
  // The verifier of Linux 6.1 loses the bound where the compiler copies it.
  __u64 at = number;
  __asm__ volatile("%0 &= 511" : "+r"(at));
  return call_layouts[at];
}

// At the exit of a call of any process: files may have other names after it.
static __always_inline void note_rename(__u32 number) {
  if (!stores_arguments || number >= COUNTRACE_CALLS) return;
  if (layout_word(number) >> 8 & COUNTRACE_RENAMES) {
    __sync_fetch_and_add(&renames, 1);
  }
}

// Makes the value part of a call's record of its arguments. Returns its bytes,
// 0: none.
static __noinline __u64 make_values(struct call_values* out, __u32 exit,
                                    __u32 number, __u32 tid, long ret) {
  out->bytes = sizeof(out->words[0]);
  out->head = 0;
  out->text_count = 0;
  const __u64 word = layout_word(number);
  struct countrace_call_layout layout;
  __builtin_memcpy(&layout, &word, sizeof(layout));
  if (exit) {
    return store_exit(&layout, tid, ret, out);
  }
  return layout.count ? store_enter(&layout, tid, out) : 0;
}

static __always_inline __u64 store_call_values(
    __u32 exit, __u32 number, const struct pt_regs___syscall* regs, __u32 tid,
    long ret, struct call_values** values) {
  if (!stores_arguments || number >= COUNTRACE_CALLS) return 0;
  const __u64 results = layout_word(number) >> 8;
  if (exit && !(results & COUNTRACE_EXIT_VALUES) &&
      !(results & COUNTRACE_EXIT_TEXTS && load(unread_calls))) {
    return 0;
  }
  *values = bpf_map_lookup_elem(&call_values, &exit);
  if (!*values) return 0;
  copy_arguments(regs, (*values)->arguments);
  return make_values(*values, exit, number, tid, ret);
}

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROGRAMS_CALL_ARGUMENTS_BPF_H_
