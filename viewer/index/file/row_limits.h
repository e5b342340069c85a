// How far the truth may lie from what an index has of a thread or a process in
// the whole trace: the report's bounds, against the sums of the index's leaves.
// No span of time has more of it, nor more than is unknown inside it
// (unknown_time.h, unseen_counts.h). In: a report's rows. Out: sections
// kThreadLimits and kProcessLimits. Thread: any.
#ifndef COUNTRACE_VIEWER_INDEX_FILE_ROW_LIMITS_H_
#define COUNTRACE_VIEWER_INDEX_FILE_ROW_LIMITS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rmap/result/tables.h"
#include "viewer/index/file/file_layout.h"

namespace countrace::viewer {

// An interval that holds the truth; hi kUnknownTime: no upper limit.
struct Limits {
  std::uint64_t lo = 0, hi = 0;
  bool IsExact(std::uint64_t value) const { return lo == value && hi == value; }
};

// `value` and what may be missing in it; kUnknownTime: any amount.
constexpr std::uint64_t AtMost(std::uint64_t value, std::uint64_t more) {
  return more > kUnknownTime - value ? kUnknownTime : value + more;
}

// Sums of the leaves of one thread or process; unplaced: what the report has
// more, which RowLimits adds.
struct LeafSums {
  std::uint64_t on_cpu_ns = 0, wait_ns = 0, dispatches = 0;
  std::uint64_t unplaced_dispatches = 0;
  std::vector<std::uint64_t> counts, unplaced;  // one for each event
  bool elsewhere = false;  // it has been on CPUs that were not recorded
  void Add(const LeafSums& other);
};

class RowLimits {
 public:
  explicit RowLimits(std::uint32_t events) : events_(events) {}

  void Add(std::size_t number, const rmap::ThreadRow& row, LeafSums& sums);
  void Add(std::size_t number, const rmap::ProcessRow& row, LeafSums& sums);
  // LimitStride() values for each number; empty: all are exact.
  std::vector<std::uint64_t> Take(std::size_t rows);

 private:
  template <typename Row>
  void AddRow(std::size_t number, const Row& row, LeafSums& sums,
              bool elsewhere);
  std::uint64_t& At(std::size_t number, std::size_t field);

  std::uint32_t events_;
  std::vector<std::uint64_t> values_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_FILE_ROW_LIMITS_H_
