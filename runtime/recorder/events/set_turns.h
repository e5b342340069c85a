// When the event sets of the CPUs rotate, and which set comes next.
//
// In each round every set is counted in two intervals, and the order is drawn
// anew: a set may follow itself. So its intervals are a random sample of the
// round, whatever the program's own period is, and two of them show how much
// the round varies (rmap/state/scaled_count.h). The first set is drawn, too: no
// set has the starts of all programs. A CPU on which nothing happened keeps its
// set. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_EVENTS_SET_TURNS_H_
#define COUNTRACE_RUNTIME_RECORDER_EVENTS_SET_TURNS_H_

#include <cstdint>
#include <random>
#include <vector>

namespace countrace::runtime {

class SetTurns {
 public:
  // `sets` < 2: nothing rotates.
  SetTurns(std::size_t sets, std::uint64_t rotate_ns, std::uint32_t seed)
      : sets_(sets), rotate_ns_(rotate_ns), random_(seed) {}

  bool rotates() const { return sets_ > 1; }
  // The first interval begins.
  void Begin(std::uint64_t now_ns) { last_ns_ = now_ns; }
  // True once in rotate_ns: the CPUs must rotate their sets now. `turn_ns`:
  // approximate interval between calls. Requires: Begin().
  bool IsDue(std::uint64_t now_ns, std::uint64_t turn_ns);
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

#endif  // COUNTRACE_RUNTIME_RECORDER_EVENTS_SET_TURNS_H_
