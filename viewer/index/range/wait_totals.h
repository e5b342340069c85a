// Why threads did not run in a range: for each process who ended its sleeps, in
// which call, and who had the CPUs that it waited for. The rules are those of
// the report's wakers and preemptors.
#ifndef COUNTRACE_VIEWER_INDEX_RANGE_WAIT_TOTALS_H_
#define COUNTRACE_VIEWER_INDEX_RANGE_WAIT_TOTALS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "rmap/result/tables.h"
#include "viewer/index/file/timeline_index.h"
#include "viewer/index/rows/interval_row.h"

namespace countrace::viewer {

struct WaitRow {
  std::uint32_t process = kNoKey;
  // What ended blocked time, kStillBlocked at the end of the range; or what had
  // the CPU that a thread waited for.
  std::variant<rmap::WakerKind, rmap::PreemptorKind> by;
  std::uint32_t by_thread = kNoKey;  // ...Kind::kThread
  std::uint32_t call = kNoKey;       // of blocked time: the innermost call
  std::uint64_t times = 0;           // stretches, or stays on the CPU
  std::uint64_t ns = 0;              // cut at the edges of the range
  // The longest of these, with the thread that did not run.
  std::uint64_t longest_ns = 0;
  std::uint32_t longest_thread = kNoKey;
  std::uint64_t longest_begin_ns = 0;
  // Where records were lost, what is known of a wait's cause may be another's.
  rmap::Qualities qualities;

  bool is_blocked() const {
    return std::holds_alternative<rmap::WakerKind>(by);
  }
};

// Dispatches in a range that are looked at; a range with more is refused.
inline constexpr std::uint64_t kMaxWaitLeaves = 1 << 20;

// Stays on the CPUs of waiting threads that are looked at; what had them in the
// others is PreemptorKind::kOther.
inline constexpr std::uint64_t kMaxStays = 1 << 21;

// Further kinds are one of ...Kind::kOther for each process.
inline constexpr std::size_t kMaxWaitRows = 1 << 16;

// Most time first: the first `sorted` rows, then the others in any order. Of a
// process the blocked rows add up to the blocked time of
// its threads, the others to their waiting time.
//
// Returns: INVALID_ARGUMENT the range has more than kMaxWaitLeaves.
absl::StatusOr<std::vector<WaitRow>> WaitsIn(const TimelineIndex& index,
                                             TimeRange range,
                                             std::size_t sorted = kMaxWaitRows);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_RANGE_WAIT_TOTALS_H_
