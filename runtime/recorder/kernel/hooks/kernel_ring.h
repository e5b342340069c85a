// The memory that the BPF programs and the recorder share: one ring for each
// CPU, with its positions. Compiled into both: C, fixed layout.
//
// A ring holds records in logformat's layout: header word, then body. Records
// start at `position & (ring bytes - 1)`; a record that crosses the end
// continues in the slack after it. A header word of 0 means reserved, not yet
// committed. The recorder zeroes the bytes it has read before it moves the
// tail.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_KERNEL_RING_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_KERNEL_RING_H_

#include "logformat/rules/comm_glob.h"

#define COUNTRACE_MAX_COUNTERS 16
#define COUNTRACE_MAX_SETS 64
#define COUNTRACE_MAX_MARKS 8
// Deeper cgroups are not searched.
#define COUNTRACE_CGROUP_LEVELS 16
#define COUNTRACE_STATE_MARKED 2  // logformat::kStateMarked
// Largest entry: a file's name (COUNTRACE_EVENT_FILE).
#define COUNTRACE_RING_SLACK 4096
#define COUNTRACE_MAX_CPUS 1024
// Event id of an entry with the number of records lost so far: one word.
#define COUNTRACE_EVENT_LOST 0x7fff
// Event id of an entry with the numbers of a new thread of a pid namespace
// inside the recorder's: pid, tid; the same in its own namespace; its inode.
#define COUNTRACE_EVENT_THREAD_IDS 0x7ffe
// Event id of an entry with the file that a process executes: its pid; the same
// in its own pid namespace; that one's inode; its parent's pid; the file's
// inode; its path as the process gave it, NUL-padded.
#define COUNTRACE_EVENT_PROGRAM 0x7ffd
#define COUNTRACE_PROGRAM_PATH_BYTES 128
#define COUNTRACE_PROGRAM_BYTES (32 + COUNTRACE_PROGRAM_PATH_BYTES)

// Event id of an entry that names a file of descriptors, before the first
// record of this ring with its number: number: u16, flags: u16, bytes of the
// names: u32; inode; magic number of its file system; then its name and those
// of the folders above, each with its NUL.
#define COUNTRACE_EVENT_FILE 0x7ffc
#define COUNTRACE_FILE_HEAD_BYTES 32
#define COUNTRACE_FILE_UNLINKED 1  // it has no name any more
#define COUNTRACE_FILE_CUT 2       // the topmost folders are missing
// Numbers are used again: a later entry gives one to another file.
#define COUNTRACE_FILE_NUMBERS 4096
// In place of 1 + a number: it is open, but the ring had no room for its name.
#define COUNTRACE_FILE_UNNAMED 0xffff

// What a system call's arguments are (syscall_arguments.h). Records of calls
// with COUNTRACE_EVENT_CALL_VALUES in their event id go on, behind the return
// value, with the bytes from here on (u16) and the bytes of each text (three
// u16, with the NUL; 0: a null pointer, at an exit: not read); at an enter the
// arguments as they are; then for each descriptor 1 + the number of its file,
// 0: it is not open; then the texts.
#define COUNTRACE_EVENT_CALL_VALUES 0x1000
#define COUNTRACE_CALL_ARGUMENTS 6
#define COUNTRACE_CALL_TEXTS 3
#define COUNTRACE_CALL_TEXT_BYTES 130  // one more than a text has: it was cut
#define COUNTRACE_CALL_ADDRESS_BYTES 110  // of the longest: a path
#define COUNTRACE_CALL_UNREADABLE 0xffff
enum countrace_call_value {
  COUNTRACE_CALL_NUMBER = 0,
  COUNTRACE_CALL_TEXT = 1,
  COUNTRACE_CALL_FD = 2,  // a descriptor whose file is stored, too
  // A socket's address, stored as a text, of the length that is the next
  // argument; where the kernel writes one, with its length.
  COUNTRACE_CALL_ADDRESS = 3,
  COUNTRACE_CALL_GIVEN_ADDRESS = 4,
  COUNTRACE_CALL_ARGV = 5,  // stored as a text by the exit of an exec
};
enum countrace_call_result {
  COUNTRACE_RETURNS_FD = 1,
  COUNTRACE_RENAMES = 2,      // files have other names after it
  COUNTRACE_EXECUTES = 4,     // its texts are of the new program
  COUNTRACE_EXIT_VALUES = 8,  // its exits have values
  // The same if a text was unreadable at an enter; else all are empty.
  COUNTRACE_EXIT_TEXTS = 16,
};
// The values of system calls by number; above are no arguments.
#define COUNTRACE_CALLS 512
struct countrace_call_layout {
  unsigned char count;    // of the arguments that are stored
  unsigned char results;  // countrace_call_result
  unsigned char kinds[COUNTRACE_CALL_ARGUMENTS];
};

// Event id of a record at a kernel hook: the base, 4 * its family, its place;
// bit 15 if it carries the counters. Its body is a KernelHookRecord, with the
// hook's number in the family; the recorder stores the hook's own event id
// instead.
#define COUNTRACE_EVENT_HOOK 0x4000
#define COUNTRACE_EVENT_DUMP 0x8000
// Set if values follow behind all that: a word with their number, << 8 which of
// them are texts, << 16 which could not be read; then their slots
// (countrace_stored_values).
#define COUNTRACE_EVENT_VALUES 0x2000
enum countrace_hook_family {
  COUNTRACE_FAMILY_SYSCALL = 0,         // number: of the system call
  COUNTRACE_FAMILY_COMPAT_SYSCALL = 1,  // the same for 32-bit programs (x86)
  COUNTRACE_FAMILY_IRQ = 2,             // number: interrupt line
  COUNTRACE_FAMILY_VECTOR = 3,          // number: countrace_vector
  COUNTRACE_FAMILY_SOFTIRQ = 4,         // number: of the softirq
  COUNTRACE_FAMILY_FAULT = 5,           // number: 1 in kernel code, else 0
  COUNTRACE_FAMILY_LISTED = 6,          // number: index in the list of hooks
};
#define COUNTRACE_HOOK_FAMILIES 7
// The dump rules' decision for a hook, by family * COUNTRACE_RULED_NUMBERS +
// number. The last number of a family stands for itself and all above.
#define COUNTRACE_RULED_NUMBERS 4096
// For all families, rounded up to a power of two.
#define COUNTRACE_HOOK_RULES (8 * COUNTRACE_RULED_NUMBERS)
enum countrace_hook_rule {
  COUNTRACE_RULE_NO_DUMP = 0,
  COUNTRACE_RULE_DUMP = 1,
  COUNTRACE_RULE_ASK = 2,  // + index of the rule
};
enum countrace_hook_place {
  COUNTRACE_PLACE_ENTER = 0,
  COUNTRACE_PLACE_EXIT = 1,
  COUNTRACE_PLACE_POINT = 2,
  // A point of a request to a block device: behind the counters its device (as
  // the kernel's dev_t), sector, and length in sectors of 512 bytes.
  COUNTRACE_PLACE_BLOCK = 3,
};
#define COUNTRACE_BLOCK_VALUES 3
// Interrupts of x86 that belong to no line (tracepoints irq_vectors:NAME_entry
// and NAME_exit).
enum countrace_vector {
  COUNTRACE_VECTOR_LOCAL_TIMER = 0,
  COUNTRACE_VECTOR_RESCHEDULE = 1,
  COUNTRACE_VECTOR_CALL_FUNCTION = 2,
  COUNTRACE_VECTOR_CALL_FUNCTION_SINGLE = 3,
  COUNTRACE_VECTOR_IRQ_WORK = 4,
  COUNTRACE_VECTOR_X86_PLATFORM_IPI = 5,
};

// Control data of one CPU's ring, in a cache line pair of its own.
struct countrace_ring_control {
  // Written by the BPF programs.
  unsigned long long head;       // bytes reserved so far
  unsigned long long lost;       // records without room so far
  unsigned long long lost_said;  // the part that lost entries have reported
  unsigned long long begin_ns;   // 0: not recording
  unsigned long long ended;      // 1: the last counters were dumped
  unsigned long long switches, faults;  // since begin
  // The thread that was switched in last: its task_struct, tid, run time then,
  // when, its switch-ins by then, and the length of its dispatch if it came
  // back before the gap was found.
  unsigned long long task;
  unsigned int tid, host_tid;  // in the recorder's pid namespace; the kernel's
  unsigned long long runtime_ns, switched_in_ns, times, ran_ns;
  unsigned long long clock_offset;  // ours minus the scheduler's
  // The event set that counts. The recorder writes the first one, before
  // anything is recorded. During a rotation it includes
  // COUNTRACE_SET_WAITS: the new set does not count yet.
  unsigned long long set;
  // Run time, in the scheduler's account, of the dispatches that ended.
  unsigned long long exec_ns;
  unsigned long long added_ns;  // to it, of the dispatch that goes on
  // Written by the recorder.
  unsigned long long tail;  // bytes read and zeroed so far
  unsigned long long pad[6];
};

// The source of one counter's value.
enum countrace_counter_source {
  COUNTRACE_SOURCE_ABSENT = 0,
  COUNTRACE_SOURCE_CLOCK = 1,     // ns since the recording began on the CPU
  COUNTRACE_SOURCE_SWITCHES = 2,  // dispatches since then
  COUNTRACE_SOURCE_FAULTS = 3,    // fault records since then
  COUNTRACE_SOURCE_PERF = 4,      // a perf event of the CPU
  COUNTRACE_SOURCE_PMU = 5,  // an event of the PMU: all of them are one group
  COUNTRACE_SOURCE_EXEC_RUNTIME = 6,  // the scheduler's account of the threads
};

// In a dump without event sets: value of an event whose counter another user of
// the PMU took. (With sets, dumps have a bit for each value.)
#define COUNTRACE_NOT_COUNTED (~0ull)

#define COUNTRACE_SET_WAITS 256

// In ids of threads and processes outside the recorder's pid namespace.
#define COUNTRACE_OUTSIDE_NAMESPACE 0x800000u

// Room for a name of code (KSYM_NAME_LEN and what stands around it).
#define COUNTRACE_CODE_NAME_BYTES 640

// Dumps nothing: programs that ran on the CPU when it was requested have ended.
#define COUNTRACE_REASON_WAIT 255

// Argument of the program that dumps counters.
struct countrace_dump_request {
  unsigned long long reason;  // logformat::CountersReason, or the one above
  unsigned long long set;     // that follows (kSetEnd), or begins (kSetBegin)
};

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_KERNEL_RING_H_
