// When one level of one owner was up: its latest changes, which is enough for
// amounts that are attributed later than they happened. Thread: one.
#ifndef COUNTRACE_RMAP_LEVELS_LEVEL_TRACK_H_
#define COUNTRACE_RMAP_LEVELS_LEVEL_TRACK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace countrace::rmap {

class LevelTrack {
 public:
  // So many changes are kept; of the time before them nothing is known.
  static constexpr std::size_t kMost = std::size_t{1} << 20;

  bool up() const { return IsUpAfter(changes_.size()); }
  // False: too many changes were kept, and the oldest are forgotten.
  // Requires: no earlier change has a later time.
  bool Set(std::uint64_t time_ns, bool is_up) {
    if (is_up == up()) return true;
    const bool full = changes_.size() == kMost;
    if (full) Drop(kMost / 2);
    changes_.push_back(time_ns);
    return !full;
  }
  // Nothing before `time_ns` will be asked for.
  void Forget(std::uint64_t time_ns) {
    const std::size_t passed = Until(time_ns);
    // Moves a change at most twice.
    if (passed > 64 && passed > changes_.size() / 2) Drop(passed);
  }
  bool UpAt(std::uint64_t time_ns) const { return IsUpAfter(Until(time_ns)); }
  // It does not change between these times, nor at one of them.
  bool IsSame(std::uint64_t begin_ns, std::uint64_t end_ns) const {
    const auto change =
        std::lower_bound(changes_.begin(), changes_.end(), begin_ns);
    return change == changes_.end() || *change > end_ns;
  }
  // Time up from one time to another.
  std::uint64_t UpIn(std::uint64_t begin_ns, std::uint64_t end_ns) const {
    std::uint64_t up_ns = 0;
    for (std::size_t next = Until(begin_ns); begin_ns < end_ns; ++next) {
      const std::uint64_t until_ns =
          next < changes_.size() ? std::min(changes_[next], end_ns) : end_ns;
      if (IsUpAfter(next)) up_ns += until_ns - begin_ns;
      begin_ns = until_ns;
    }
    return up_ns;
  }

 private:
  bool IsUpAfter(std::size_t changes) const {
    return first_up_ != (changes % 2 != 0);
  }
  std::size_t Until(std::uint64_t time_ns) const {
    return static_cast<std::size_t>(
        std::upper_bound(changes_.begin(), changes_.end(), time_ns) -
        changes_.begin());
  }
  void Drop(std::size_t changes) {
    first_up_ = IsUpAfter(changes);
    changes_.erase(changes_.begin(),
                   changes_.begin() + static_cast<std::ptrdiff_t>(changes));
  }

  bool first_up_ = false;               // before the first change that is kept
  std::vector<std::uint64_t> changes_;  // their times
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_LEVELS_LEVEL_TRACK_H_
