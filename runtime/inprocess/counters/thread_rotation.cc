#include "runtime/inprocess/counters/thread_rotation.h"

#include <atomic>

namespace countrace::runtime {

namespace lf = countrace::logformat;

namespace {

// The sets rotate inside a segment that is open for this many intervals, if it
// has this many inner enters; without the second condition, a segment that only
// waits for a CPU would be cut. Else the sets would never rotate inside a
// program's main loop.
constexpr std::uint64_t kOverdueRotations = 16;
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
std::uint32_t Random(ThreadRotation& rotation) noexcept {
  rotation.random ^= rotation.random << 13;
  rotation.random ^= rotation.random >> 17;
  rotation.random ^= rotation.random << 5;
  return rotation.random;
}

std::uint32_t NextSet(ThreadRotation& rotation) noexcept {
  if (rotation.left == 0) {
    for (std::uint32_t i = 0; i < 2 * rotation.sets; ++i) {
      const std::uint32_t at = Random(rotation) % (i + 1);
      rotation.round[i] = rotation.round[at];
      rotation.round[at] = static_cast<std::uint8_t>(i % rotation.sets);
    }
    rotation.left = 2 * rotation.sets;
  }
  return rotation.round[--rotation.left];
}

void SetDueTimes(ThreadRotation& rotation, std::uint64_t now_ns) noexcept {
  const std::uint64_t rotation_ns = rotation.rotate_ns;
  rotation.due_ns = now_ns + rotation_ns;
  rotation.overdue_ns =
      now_ns +
      (rotation_ns != 0 ? kOverdueRotations * rotation_ns : kOverdueInstanceNs);
}

}  // namespace

void BeginRotation(ThreadRotation& rotation, std::uint32_t sets,
                   std::uint64_t rotate_ns, std::uint32_t seed) noexcept {
  rotation.sets = sets > lf::kSessionEventSets ? 0 : sets;
  if (rotation.sets == 0) return;
  rotation.rotate_ns = rotate_ns;
  rotation.random = seed | 1;
  // Similar seeds give similar first values: skip them.
  for (int i = 0; i < 8; ++i) Random(rotation);
  rotation.set = NextSet(rotation);
}

bool IsSetChange(ThreadRotation& rotation, std::uint32_t event_id,
                 std::uint64_t now_ns) noexcept {
  if (IsPoint(lf::EventHookId(static_cast<std::uint16_t>(event_id)))) {
    return false;
  }
  if ((event_id & lf::kEventExitBit) != 0) {
    if (rotation.depth != 0) --rotation.depth;
    return false;
  }
  bool changed = false;
  rotation.inner = rotation.depth != 0 ? rotation.inner + 1 : 0;
  const bool overdue =
      rotation.inner >= kOverdueEnters && now_ns >= rotation.overdue_ns;
  if (rotation.due_ns == 0) {
    SetDueTimes(rotation, now_ns);
  } else if (overdue || (rotation.depth == 0 && now_ns >= rotation.due_ns)) {
    rotation.depth = rotation.inner = 0;
    SetDueTimes(rotation, now_ns);
    const std::uint32_t next = NextSet(rotation);
    changed = next != rotation.set;
    rotation.set = next;
    rotation.odd = !rotation.odd;
  }
  ++rotation.depth;
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
