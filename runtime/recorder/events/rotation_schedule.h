// When the event sets of the CPUs rotate, and which set comes next.
//
// In each round every set is counted in two intervals, and the order is drawn
// anew: a set may follow itself. So its intervals are a random sample of the
// round, whatever the program's own period is, and two of them show how much
// the round varies (rmap/result/scaled_count.h). The first set is drawn, too:
// no set has the starts of all programs. A CPU on which nothing happened keeps
// its set. Thread: one.
//
// Each of many sets has one of its intervals in the first half of a round, so
// that a command as short as half a round is counted by all of them. What a
// program does differently in the two halves then makes the two intervals look
// more different than random ones, and the standard errors larger, not smaller.
#ifndef COUNTRACE_RUNTIME_RECORDER_EVENTS_ROTATION_SCHEDULE_H_
#define COUNTRACE_RUNTIME_RECORDER_EVENTS_ROTATION_SCHEDULE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace countrace::runtime {

inline constexpr std::uint64_t kRotateNs = 10'000'000;
// A rotation interrupts each CPU twice.
inline constexpr std::uint64_t kLeastRotateNs = 2'000'000;
// More sets than this have half rounds.
inline constexpr std::size_t kFewSets = 8;

// The interval for so many sets that the user does not choose: the more there
// are, the shorter, so that half a round takes no more than a fifth of a
// second.
inline std::uint64_t RotateNs(std::size_t sets) {
  constexpr std::uint64_t kHalfRoundNs = 200'000'000;
  return std::clamp(kHalfRoundNs / std::max<std::size_t>(sets, 1),
                    kLeastRotateNs, kRotateNs);
}

class RotationSchedule {
 public:
  // `sets` < 2: nothing rotates. `rotate_ns` absent: RotateNs().
  RotationSchedule(std::size_t sets, std::optional<std::uint64_t> rotate_ns,
                   std::uint32_t seed)
      : sets_(sets),
        rotate_ns_(rotate_ns.value_or(RotateNs(sets))),
        random_(seed) {}

  bool rotates() const { return sets_ > 1; }
  // The first interval begins.
  void Begin(std::uint64_t now_ns) { last_ns_ = now_ns; }
  // True once in rotate_ns: the CPUs must rotate their sets now. `period_ns`:
  // approximate interval between calls, or rotate_ns if that is shorter.
  // Requires: Begin().
  bool IsDue(std::uint64_t now_ns, std::uint64_t period_ns);
  // The first set, then the next one, of the CPU with this index.
  std::uint32_t Next(std::size_t cpu);

 private:
  std::size_t sets_;
  std::uint64_t rotate_ns_;
  std::mt19937 random_;
  std::uint64_t last_ns_ = 0;
  std::vector<std::vector<std::uint32_t>> rounds_;  // one per CPU, last is next
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_EVENTS_ROTATION_SCHEDULE_H_
