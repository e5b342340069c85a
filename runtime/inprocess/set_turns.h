// HOT if event sets take turns at user hooks, else one comparison a dump. Which
// event set a thread counts: a turn begins at an enter of an outermost dumped
// segment and so never ends inside one, unless that lasts far longer than a
// turn and has many others in it.
//
// Each round gives every set one turn, in an order drawn anew: a program's own
// period cannot stay in step with it.
#ifndef COUNTRACE_RUNTIME_INPROCESS_SET_TURNS_H_
#define COUNTRACE_RUNTIME_INPROCESS_SET_TURNS_H_

#include <cstdint>

#include "logformat/packet_layout.h"

namespace countrace::runtime {

// Owner thread only; one for each thread, zero-initialised.
struct SetTurns {
  std::uint32_t sets;   // 0: none take turns
  std::uint32_t set;    // in force: the MMCR of the thread's dumps
  std::uint32_t depth;  // open dumped segments since the turn began
  std::uint32_t inner;  // enters inside the outermost open one
  std::uint32_t random;
  std::uint32_t left;  // of `round`; its last is next
  std::uint8_t round[logformat::kMaxEventSets];
  std::uint64_t due_ns;      // the next outermost enter begins a turn
  std::uint64_t overdue_ns;  // and any enter does, after many inner ones
};

// Draws the first set. `seed`: other threads have others.
void BeginTurns(SetTurns& turns, std::uint32_t seed) noexcept;

// Sees a hook that dumps, before its counters are read. True: turns.set is
// another set from now on, and the caller is to count it. Async-signal-safe.
bool IsSetChange(SetTurns& turns, std::uint32_t event_id) noexcept;

// Hooks that bracket nothing do not nest. Called when a hook is registered.
void NoteHookKind(bool is_point, std::uint32_t hook_id) noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_SET_TURNS_H_
