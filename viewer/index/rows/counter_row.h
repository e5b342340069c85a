// Counts and rates of one CPU's counters. Between two dumps a count is known
// only in total: it is spread evenly (a flat rate) and marked estimated.
#ifndef COUNTRACE_VIEWER_INDEX_ROWS_COUNTER_ROW_H_
#define COUNTRACE_VIEWER_INDEX_ROWS_COUNTER_ROW_H_

#include <cstdint>

#include "viewer/index/file/packed_block.h"
#include "viewer/index/file/timeline_index.h"
#include "viewer/index/rows/interval_row.h"

namespace countrace::viewer {

enum CounterField : std::uint32_t {
  kCounterTime,
  kCounterGaps,
  kCounterValues,  // the first of them
};
// A clock is often as late as the dump.
constexpr PackedShape CounterShape(std::size_t events) {
  return {.fields = kCounterValues + events,
          .derived = kCounterValues,
          .reference = kCounterTime};
}

class CounterRow {
 public:
  // Requires: rows()[row] is of RowKind::kCounter.
  CounterRow(const TimelineIndex& index, std::uint32_t row);

  std::uint32_t cpu() const { return entry_.owner; }

  struct Value {
    double count;    // since the first dump
    bool estimated;  // between two dumps
    bool gap;        // before the first dump, after the last, or not counted
    bool outside;    // a gap, because nothing was counted there
    // The counts at the dumps around the instant; hi < 0: unknown.
    double lo = 0, hi = 0;
  };
  Value Before(std::uint64_t time_ns, std::uint32_t event,
               std::uint64_t* hint = nullptr) const;

  struct Rates {
    double min = 0, max = 0;  // events per ns over the steps that touch
    bool known = false;
    bool gap = false;      // not known, or not counted, in a part
    bool unknown = false;  // between two dumps, and not known
  };
  Rates RatesIn(TimeRange range, std::uint32_t event,
                std::uint64_t* hint = nullptr) const;

 private:
  // What a dump has of one event.
  struct Dump {
    std::uint64_t time_ns, value;
    bool gap;  // before it
  };
  Dump At(std::uint64_t number, std::uint32_t event) const {
    const PackedBlocks::Place at = dumps_.At(number);
    return {dumps_.Value(at, kCounterTime),
            dumps_.Value(at, kCounterValues + event),
            ((dumps_.Value(at, kCounterGaps) >> event) & 1) != 0};
  }
  std::uint64_t Time(std::uint64_t number) const {
    return dumps_.Value(number, kCounterTime);
  }
  // First leaf after `time_ns`.
  std::uint64_t FirstAfter(std::uint64_t time_ns, std::uint64_t hint) const;
  // Those of the steps [first, end).
  void AddSteps(std::uint64_t first, std::uint64_t end, std::uint32_t event,
                Rates& rates) const;

  const TimelineIndex& index_;
  const RowEntry& entry_;
  PackedBlocks dumps_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_ROWS_COUNTER_ROW_H_
