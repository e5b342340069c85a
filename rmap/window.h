// The part of a trace that its tables are of, and where each item lies: the one
// unit that compares the times of items with the edges.
//
//   flight    earlier, names alone |tables
//   range     sums are dropped     |tables|behind
//   snapshot                        tables|behind, each CPU at its last dump
//
// In: times of records and losses, in the order of reading. Out: steps, to
// Reconstruction. Thread: one.
#ifndef COUNTRACE_RMAP_WINDOW_H_
#define COUNTRACE_RMAP_WINDOW_H_

#include <algorithm>
#include <cstdint>
#include <utility>

#include "logformat/trace_info.h"
#include "rmap/pipeline.h"

namespace countrace::rmap {

class Window {
 public:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  enum class Step { kEarlier, kBegin, kBeginRange, kInside, kBehind };

  // Before `complete_from_ns`, records of some CPUs are overwritten; 0: none.
  Window(const logformat::TraceInfo& info, const TableRange& range,
         std::uint64_t complete_from_ns)
      : begin_ns_(complete_from_ns),
        until_ns_(info.snapshot_ns == 0 ? kNever : info.snapshot_ns),
        earlier_(complete_from_ns != 0) {
    if (range.from_ns > std::max(info.begin_ns, begin_ns_)) {
      range_from_ns_ = range.from_ns;
      of_range_ = true;
    }
    if (range.until_ns < until_ns_) {
      until_ns_ = std::max(range.until_ns, begin_ns_);
      of_range_ = ends_in_range_ = true;
    }
    FindEdge();
  }

  // Next() would return kInside.
  bool Holds(std::uint64_t time_ns) const { return time_ns < edge_ns_; }

  // The next step for an item: a begin, once, before an item behind it, then
  // where it lies. `may_precede`: kernel records that are earlier may follow.
  Step Next(std::uint64_t time_ns, bool may_precede) {
    if (earlier_) {
      if (time_ns < begin_ns_) return Step::kEarlier;
      if (!std::exchange(begun_, true)) return Step::kBegin;
      earlier_ = may_precede;
    }
    const bool range_begins = time_ns >= range_from_ns_;
    if (range_begins) {
      earlier_ = false;
      begin_ns_ = std::exchange(range_from_ns_, kNever);
    }
    FindEdge();
    if (range_begins) return Step::kBeginRange;
    return time_ns < until_ns_ ? Step::kInside : Step::kBehind;
  }

  // The begin of the tables, 0: of the trace; before a range, what it was.
  std::uint64_t begin_ns() const { return begin_ns_; }
  std::uint64_t until_ns() const { return until_ns_; }
  bool of_range() const { return of_range_; }
  // They end with a range, at `until_ns` on all CPUs.
  bool ends_in_range() const { return ends_in_range_; }

 private:
  void FindEdge() {
    edge_ns_ = earlier_ ? 0 : std::min(range_from_ns_, until_ns_);
  }

  std::uint64_t begin_ns_, until_ns_;
  std::uint64_t range_from_ns_ = kNever;  // kNever: it has begun
  std::uint64_t edge_ns_ = 0;             // the next one
  bool of_range_ = false, ends_in_range_ = false;
  bool earlier_, begun_ = false;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_WINDOW_H_
