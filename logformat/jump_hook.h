// The point hooks that the runtime library itself has: a jump out of open
// calls, a switch to another stack, a scope in a coroutine (FORMAT.md 4.2).
// Writer: runtime/inprocess/interpose/jumps.cc. Reader: rmap/segments.
#ifndef COUNTRACE_LOGFORMAT_JUMP_HOOK_H_
#define COUNTRACE_LOGFORMAT_JUMP_HOOK_H_

namespace countrace::logformat {

inline constexpr char kJumpProvider[] = "countrace";

// Payload: since_ns (u64), the time at which the target of the jump was saved
// (setjmp): calls that began later ended at the jump. 0: not known.
inline constexpr char kJumpName[] = "jump";

// Payload: from, to (u64): numbers of stacks, of which the process uses each
// once. Calls that are open on `from` wait until a record leads back to it. The
// thread's next jump record has since_ns 0, for readers without this hook, and
// means nothing else.
inline constexpr char kStackName[] = "stack";

// Payload: place, exit (u64): the thread's hook record before this one (exit 0)
// began the scope at `place`, in a coroutine's frame; the next one (1) ends it.
inline constexpr char kScopeName[] = "scope";

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_JUMP_HOOK_H_
