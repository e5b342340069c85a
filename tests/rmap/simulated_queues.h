// What had the CPUs of the waiting threads of a simulated machine, step by step
// and for every CPU: which of them is a thread's own is known when its wait
// ends.
#ifndef COUNTRACE_TESTS_RMAP_SIMULATED_QUEUES_H_
#define COUNTRACE_TESTS_RMAP_SIMULATED_QUEUES_H_

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace countrace::test_support {

class SimulatedQueues {
 public:
  struct Occupant {
    std::string kind;  // "thread", "idle", ...
    int thread = -1;   // of kind thread: its number
    auto operator<=>(const Occupant&) const = default;
  };
  struct Kept {
    int thread = 0;  // that waited
    Occupant by;
    auto operator<=>(const Kept&) const = default;
  };
  struct Sum {
    std::uint64_t times = 0, ns = 0, longest_ns = 0;
  };

  // `thread` waits: on the CPU that it left, or, woken (-1), for any.
  void Begin(int thread, int left_cpu) { waits_[thread] = {left_cpu, {}}; }
  // It still does, while CPUs have these `occupants`.
  void Step(int thread, const std::vector<Occupant>& occupants,
            std::uint64_t ns) {
    std::vector<std::vector<Stay>>& stays = waits_.at(thread).stays;
    stays.resize(occupants.size());
    for (std::size_t cpu = 0; cpu < occupants.size(); ++cpu) {
      std::vector<Stay>& of_cpu = stays[cpu];
      if (!of_cpu.empty() && of_cpu.back().by == occupants[cpu]) {
        of_cpu.back().ns += ns;
      } else {
        of_cpu.push_back({occupants[cpu], ns});
      }
    }
  }
  // It gets a CPU; -1: the run ends. It might have run on any CPU that was idle
  // for more than `least_idle_ns`; 0: it might not, perhaps.
  void End(int thread, int cpu, std::uint64_t least_idle_ns = 0) {
    const auto found = waits_.find(thread);
    if (found == waits_.end()) return;
    const Wait wait = found->second;
    waits_.erase(found);
    if (wait.stays.empty()) return;
    const int own = wait.left_cpu >= 0 ? wait.left_cpu : cpu;
    // What every nanosecond of it is, merged where it stays the same.
    std::map<std::uint64_t, Occupant> from;
    std::uint64_t at_ns = 0, not_known_ns = 0;
    for (const Stay& stay : wait.stays[own < 0 ? 0 : std::size_t(own)]) {
      from[at_ns] = own < 0 ? Occupant{"not_known"} : stay.by;
      at_ns += stay.ns;
    }
    const std::uint64_t end_ns = at_ns;
    for (const std::vector<Stay>& of_cpu : wait.stays) {
      at_ns = 0;
      for (const Stay& stay : of_cpu) {
        const std::uint64_t until_ns = at_ns + stay.ns;
        if (least_idle_ns != 0 && stay.ns > least_idle_ns &&
            stay.by.kind == "idle") {
          const Occupant behind = std::prev(from.upper_bound(until_ns))->second;
          from.erase(from.lower_bound(at_ns), from.upper_bound(until_ns));
          from[at_ns] = {"idle_allowed"};
          if (until_ns != end_ns) from[until_ns] = behind;
        }
        at_ns = until_ns;
      }
    }
    for (auto part = from.begin(); part != from.end();) {
      const auto [since_ns, by] = *part;
      while (part != from.end() && part->second == by) ++part;
      const std::uint64_t ns =
          (part == from.end() ? end_ns : part->first) - since_ns;
      if (by.kind == "not_known") {
        not_known_ns += ns;
      } else {
        Add({thread, by}, ns);
      }
    }
    if (not_known_ns != 0) Add({thread, {"not_known"}}, not_known_ns);
  }
  void EndAll() {
    while (!waits_.empty()) End(waits_.begin()->first, -1);
  }

  const std::map<Kept, Sum>& sums() const { return sums_; }

 private:
  struct Stay {
    Occupant by;
    std::uint64_t ns = 0;
  };
  struct Wait {
    int left_cpu = -1;
    std::vector<std::vector<Stay>> stays;  // by CPU
  };

  void Add(const Kept& kept, std::uint64_t ns) {
    Sum& sum = sums_[kept];
    ++sum.times;
    sum.ns += ns;
    sum.longest_ns = std::max(sum.longest_ns, ns);
  }

  std::map<int, Wait> waits_;
  std::map<Kept, Sum> sums_;
};

}  // namespace countrace::test_support

#endif  // COUNTRACE_TESTS_RMAP_SIMULATED_QUEUES_H_
