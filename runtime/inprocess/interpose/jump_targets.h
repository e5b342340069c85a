// Where the calling thread can jump to: when each target was saved by setjmp,
// so that the record of a jump shows which calls it ended. Thread: each its
// own; a signal handler may come between.
#ifndef COUNTRACE_RUNTIME_INPROCESS_INTERPOSE_JUMP_TARGETS_H_
#define COUNTRACE_RUNTIME_INPROCESS_INTERPOSE_JUMP_TARGETS_H_

#include <cstdint>

namespace countrace::runtime {

// The C library's jmp_buf and what setjmp is about to store in it.
struct JumpTarget {
  const void* buffer;
  std::uint64_t stack_pointer, return_address;  // of setjmp's return
};

struct SavedTarget {
  JumpTarget target;
  // The time (ns) at which it was saved; 1: before the thread's first record;
  // 0: not known.
  std::uint64_t saved_ns;
  std::uint64_t stack;  // number of the stack (jumps.cc)
};

// `stack`: the one on which the thread runs. Async-signal-safe.
void NoteJumpTarget(const JumpTarget& target, std::uint64_t stack) noexcept;

// Returns where the present content of `buffer` leads; saved_ns 0: not known.
SavedTarget FindJumpTarget(const void* buffer) noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_INTERPOSE_JUMP_TARGETS_H_
