// The rows of several traces brought side by side: the same call path of the
// same program is one row, whatever pid it had in each run. Processes of one
// command name are merged.
//
// What a process used outside all segments is a row as well (empty path), so
// that the rows of an additive metric sum to what all processes used.
// Thread: any.
#ifndef COUNTRACE_RMAP_DIFF_ALIGNED_ROWS_H_
#define COUNTRACE_RMAP_DIFF_ALIGNED_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rmap/diff/difference.h"
#include "rmap/tables/tables.h"

namespace countrace::rmap::diff {

// Additive over rows. calls is none of them: it is not exclusive.
enum class MetricKind : std::uint8_t { kWall, kOnCpu, kOffCpu, kEvent };

struct Metric {
  std::string name;  // "wall", "on-CPU", "off-CPU", or the event's
  MetricKind kind = MetricKind::kEvent;
  bool is_time = false;  // ns, else a count
};

// What all traces of both sides can say, in the order of the output.
struct CommonMetrics {
  std::vector<Metric> metrics;
  std::vector<std::string> left_out;   // events that only some of them counted
  std::vector<std::string> estimated;  // events that some counted in turns
};
CommonMetrics FindCommonMetrics(const std::vector<const Report*>& reports);

// A metric of a row in one run. `self` is without the segments inside; the true
// value is in [self - below, self + above], infinite if it can be anything.
// Modulo 2^64 (outside segments it can be negative, and a damaged trace can
// hold any count): Value() is what it says.
struct Amount {
  std::uint64_t self = 0, incl = 0;
  double below = 0, above = 0;
  Quality quality = Quality::kExact;
  // Of an estimate; none of it is in `below` and `above`.
  SamplingError self_error, incl_error;
};

constexpr double Value(std::uint64_t amount) {
  return static_cast<double>(static_cast<std::int64_t>(amount));
}

// Adds `from`, which is of the same run.
void Add(const Amount& from, Amount& to);

struct RowOfRun {
  bool occurs = false;
  std::uint64_t calls = 0;
  double calls_above = 0;  // calls that may be missing
  Quality calls_quality = Quality::kExact;
  // Sum over the calls of the squared deviation of their wall time.
  double squared_deviations = 0;
  // By metric; absent: this trace cannot say. All 0 where the row does not
  // occur: nothing of it was recorded.
  std::vector<std::optional<Amount>> amounts;
};

struct AlignedRow {
  std::string process;            // command name; empty with --any-process
  std::vector<std::string> path;  // empty: outside all segments
  bool interrupts = false;        // of a CPU, and in no process
  std::vector<RowOfRun> before, after;  // one for each trace

  bool OccursIn(const std::vector<RowOfRun>& side) const;
};

struct AlignOptions {
  // Rows are the same if their call path is, whatever the program's name.
  bool any_process = false;
};

// Sorted by process and path.
std::vector<AlignedRow> Align(const std::vector<Report>& before,
                              const std::vector<Report>& after,
                              const std::vector<Metric>& metrics,
                              const AlignOptions& options);

// `segment` of all processes of one trace, on any path, inclusive; a recursive
// one counts once. Absent: it does not occur.
std::optional<RowOfRun> WholeSegment(const Report& report,
                                     const std::string& segment,
                                     const std::vector<Metric>& metrics);

// What all processes of one trace used; of wall and off-CPU time, which exist
// inside segments only, and of events counted at hooks only: all segments.
// Absent: this trace cannot say. An estimate is that of all of them together,
// not the sum of theirs, which is less sure.
std::optional<Amount> ProcessTotal(const Report& report, const Metric& metric);

// What all processes' segments in one trace used, the sum of the rows.
std::uint64_t SumOfSegments(const Report& report, const Metric& metric);

}  // namespace countrace::rmap::diff

#endif  // COUNTRACE_RMAP_DIFF_ALIGNED_ROWS_H_
