// The point hook that the runtime library itself has: a jump out of open calls
// (FORMAT.md 4.2). Writer: runtime/inprocess/jumps.cc. Reader: rmap/segments.
#ifndef COUNTRACE_LOGFORMAT_JUMP_HOOK_H_
#define COUNTRACE_LOGFORMAT_JUMP_HOOK_H_

namespace countrace::logformat {

// Payload: since_ns (u64), the time at which the target of the jump was saved
// (setjmp): calls that began later ended at the jump. 0: not known, as of a
// switch to another stack (swapcontext).
inline constexpr char kJumpProvider[] = "countrace";
inline constexpr char kJumpName[] = "jump";

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_JUMP_HOOK_H_
