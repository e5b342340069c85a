// HOT if event sets are multiplexed at user hooks, else one comparison a dump.
// Selects the event set that a thread counts. Sets rotate at the enter of an
// outermost dumped segment, so a rotation is never inside a segment, unless one
// lasts many rotation intervals and many others begin in it.
//
// In each round every set is counted in two rotations, in a random order: a
// period of the program itself cannot stay in phase with it, and the two show
// how much the round varies (rmap/result/scaled_count.h).
#ifndef COUNTRACE_RUNTIME_INPROCESS_COUNTERS_THREAD_ROTATION_H_
#define COUNTRACE_RUNTIME_INPROCESS_COUNTERS_THREAD_ROTATION_H_

#include <cstdint>

#include "logformat/packet_layout.h"

namespace countrace::runtime {

// Owner thread only; one per thread, zero-initialised.
struct ThreadRotation {
  std::uint32_t sets;   // 0: no multiplexing
  std::uint32_t set;    // counting now: the MMCR of the thread's dumps
  bool odd;             // every second rotation: the dumps' kOddRotationBit
  std::uint32_t depth;  // open dumped segments since the last rotation
  std::uint32_t inner;  // enters inside the outermost open one
  std::uint32_t random;
  std::uint32_t left;  // unused entries of `round`; its last is next
  std::uint8_t round[2 * logformat::kSessionEventSets];
  std::uint64_t rotate_ns;  // 0: at each outermost enter
  std::uint64_t due_ns;     // the next outermost enter rotates; 0: no enter yet
  std::uint64_t overdue_ns;  // any enter rotates, after many inner ones
};

// Draws the first set; its rotation begins at the first enter. `seed`: differs
// between threads.
void BeginRotation(ThreadRotation& rotation, std::uint32_t sets,
                   std::uint64_t rotate_ns, std::uint32_t seed) noexcept;

// Processes a hook that dumps, before its counters are read. True: rotation.set
// has changed, and the caller must make it count. Async-signal-safe.
bool IsSetChange(ThreadRotation& rotation, std::uint32_t event_id,
                 std::uint64_t now_ns) noexcept;

// Stores whether the hook is a point hook; these do not nest. Called when a
// hook is registered.
void NoteHookKind(bool is_point, std::uint32_t hook_id) noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_COUNTERS_THREAD_ROTATION_H_
