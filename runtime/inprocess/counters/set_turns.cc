#include "runtime/inprocess/counters/set_turns.h"

#include <atomic>

namespace countrace::runtime {

namespace lf = countrace::logformat;

namespace {

// The sets rotate inside a segment that is open for this many intervals, if it
// has this many inner enters; without the second condition, a segment that only
// waits for a CPU would be cut. Else the sets would never rotate inside a
// program's main loop.
constexpr std::uint64_t kOverdueTurns = 16;
constexpr std::uint32_t kOverdueEnters = 64;
// The same limit where the sets rotate at each outermost segment.
constexpr std::uint64_t kOverdueInstanceNs = 160'000'000;

constexpr std::uint32_t kWords = (lf::kHookIdMax + 1 + 63) / 64;
std::atomic<std::uint64_t> g_points[kWords];  // bit: hook id of a point hook

bool IsPoint(std::uint32_t hook_id) noexcept {
  return (g_points[hook_id / 64].load(std::memory_order_relaxed) >>
              (hook_id % 64) &
          1u) != 0;
}

// Marsaglia, Xorshift RNGs (2003), section 3.
std::uint32_t Random(ThreadTurns& turns) noexcept {
  turns.random ^= turns.random << 13;
  turns.random ^= turns.random >> 17;
  turns.random ^= turns.random << 5;
  return turns.random;
}

std::uint32_t NextSet(ThreadTurns& turns) noexcept {
  if (turns.left == 0) {
    for (std::uint32_t i = 0; i < 2 * turns.sets; ++i) {
      const std::uint32_t at = Random(turns) % (i + 1);
      turns.round[i] = turns.round[at];
      turns.round[at] = static_cast<std::uint8_t>(i % turns.sets);
    }
    turns.left = 2 * turns.sets;
  }
  return turns.round[--turns.left];
}

void SetDueTimes(ThreadTurns& turns, std::uint64_t now_ns) noexcept {
  const std::uint64_t turn_ns = turns.rotate_ns;
  turns.due_ns = now_ns + turn_ns;
  turns.overdue_ns =
      now_ns + (turn_ns != 0 ? kOverdueTurns * turn_ns : kOverdueInstanceNs);
}

}  // namespace

void BeginTurns(ThreadTurns& turns, std::uint32_t sets, std::uint64_t rotate_ns,
                std::uint32_t seed) noexcept {
  turns.sets = sets > lf::kSessionEventSets ? 0 : sets;
  if (turns.sets == 0) return;
  turns.rotate_ns = rotate_ns;
  turns.random = seed | 1;
  // Similar seeds give similar first values: skip them.
  for (int i = 0; i < 8; ++i) Random(turns);
  turns.set = NextSet(turns);
}

bool IsSetChange(ThreadTurns& turns, std::uint32_t event_id,
                 std::uint64_t now_ns) noexcept {
  if (IsPoint(lf::EventHookId(static_cast<std::uint16_t>(event_id)))) {
    return false;
  }
  if ((event_id & lf::kEventExitBit) != 0) {
    if (turns.depth != 0) --turns.depth;
    return false;
  }
  bool changed = false;
  turns.inner = turns.depth != 0 ? turns.inner + 1 : 0;
  const bool overdue =
      turns.inner >= kOverdueEnters && now_ns >= turns.overdue_ns;
  if (turns.due_ns == 0) {
    SetDueTimes(turns, now_ns);
  } else if (overdue || (turns.depth == 0 && now_ns >= turns.due_ns)) {
    turns.depth = turns.inner = 0;
    SetDueTimes(turns, now_ns);
    const std::uint32_t next = NextSet(turns);
    changed = next != turns.set;
    turns.set = next;
    turns.odd = !turns.odd;
  }
  ++turns.depth;
  return changed;
}

void NoteHookKind(bool is_point, std::uint32_t hook_id) noexcept {
  if (hook_id > lf::kHookIdMax) return;
  std::atomic<std::uint64_t>& word = g_points[hook_id / 64];
  const std::uint64_t bit = std::uint64_t{1} << (hook_id % 64);
  if (is_point) {
    word.fetch_or(bit, std::memory_order_relaxed);
  } else {
    word.fetch_and(~bit, std::memory_order_relaxed);
  }
}

}  // namespace countrace::runtime
