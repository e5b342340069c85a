// The clock of the tables of a trace with pauses (TraceInfo::pauses): it stands
// still in a pause.
//
//   real   0 1 2 3 4 5 6 7 8        a pause from 3 to 6
//   kept   0 1 2 3 3 3 3 4 5
//
// So every time between two records of Reconstruction is the time outside of
// pauses, and none of its rules handles them; RangeObserver gives observers the
// real times again. Thread: any.
#ifndef COUNTRACE_RMAP_KEPT_TIME_H_
#define COUNTRACE_RMAP_KEPT_TIME_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "logformat/trace_info.h"

namespace countrace::rmap {

class KeptTime {
 public:
  explicit KeptTime(const std::vector<logformat::TimeSpan>& pauses);

  bool any() const { return !pauses_.empty(); }
  std::uint64_t At(std::uint64_t time_ns) const {
    return any() ? Map(time_ns) : time_ns;
  }
  // The real time of what begins, or ends, at a kept one: where a pause lies
  // there, behind it, or before it.
  std::uint64_t BeginAt(std::uint64_t kept_ns) const;
  std::uint64_t EndAt(std::uint64_t kept_ns) const;
  // The real spans of a kept one, in order; an empty one has one.
  std::vector<logformat::TimeSpan> PartsOf(std::uint64_t begin_ns,
                                           std::uint64_t end_ns) const;

  // Begins and ends of pauses, in order: Edge(0) is the first one's begin.
  std::size_t edges() const { return 2 * pauses_.size(); }
  std::uint64_t Edge(std::size_t i) const {
    const logformat::TimeSpan& span = pauses_[i / 2].real;
    return i % 2 == 0 ? span.from_ns : span.until_ns;
  }

 private:
  struct Pause {
    logformat::TimeSpan real;
    std::uint64_t kept_ns;
  };
  std::uint64_t Map(std::uint64_t time_ns) const;
  static std::uint64_t Behind(const Pause& pause, std::uint64_t kept_ns);

  std::vector<Pause> pauses_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_KEPT_TIME_H_
