// Aligns the rows of several traces: the same call path of the same program is
// one row, whatever pid it had in each run. Processes of one command name are
// merged.
//
// The time and counts of a process outside all segments are a row as well
// (empty path), so that the rows of an additive metric add up to the sum over
// all processes.
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

// Additive over rows. calls is not among them: it is not exclusive.
enum class MetricKind : std::uint8_t { kWall, kOnCpu, kOffCpu, kEvent };

struct Metric {
  std::string name;  // "wall", "on-CPU", "off-CPU", or the event's
  MetricKind kind = MetricKind::kEvent;
  bool is_time = false;  // ns; else a count
};

// The metrics that all traces of both sides have, in the order of the output.
struct CommonMetrics {
  std::vector<Metric> metrics;
  std::vector<std::string> left_out;   // events that only some traces have
  std::vector<std::string> estimated;  // events that some traces multiplexed
};
CommonMetrics FindCommonMetrics(const std::vector<const Report*>& reports);

// A metric of a row in one run. `self` excludes inner segments; the true value
// is in [self - below, self + above], infinite without a bound. Modulo 2^64,
// since a part outside segments can be negative, and a damaged trace can hold
// any count; Value() is the signed value.
struct Amount {
  std::uint64_t self = 0, incl = 0;
  double below = 0, above = 0;
  Quality quality = Quality::kExact;
  // Errors of an estimate; `below` and `above` do not include them.
  SamplingError self_error, incl_error;
};

constexpr double Value(std::uint64_t amount) {
  return static_cast<double>(static_cast<std::int64_t>(amount));
}

// Adds `from`, an amount of the same run.
void Add(const Amount& from, Amount& to);

struct RowOfRun {
  bool occurs = false;
  std::uint64_t calls = 0;
  double calls_above = 0;  // calls that may be missing
  Quality calls_quality = Quality::kExact;
  // Sum over the calls of the squared deviation of their wall time.
  double squared_deviations = 0;
  // By metric; absent: not in this trace. All 0 where the row does not occur:
  // nothing was recorded for it.
  std::vector<std::optional<Amount>> amounts;
};

struct AlignedRow {
  std::string process;            // command name; empty with --any-process
  std::vector<std::string> path;  // empty: outside all segments
  bool interrupts = false;        // an interrupt of a CPU, in no process
  std::vector<RowOfRun> before, after;  // one for each trace

  bool OccursIn(const std::vector<RowOfRun>& side) const;
};

struct AlignOptions {
  // Rows with the same call path are one, whatever the program's name.
  bool any_process = false;
};

// Sorted by process and path.
std::vector<AlignedRow> Align(const std::vector<Report>& before,
                              const std::vector<Report>& after,
                              const std::vector<Metric>& metrics,
                              const AlignOptions& options);

// `segment` of all processes of one trace, on any path, inclusive; recursive
// calls count once. Absent: it does not occur.
std::optional<RowOfRun> WholeSegment(const Report& report,
                                     const std::string& segment,
                                     const std::vector<Metric>& metrics);

// The sum over all processes of one trace. For wall and off-CPU time, which
// exist inside segments only, and for events counted at hooks only: over all
// segments. Absent: not in this trace. An estimate covers all processes
// together; the sum of their estimates would be less sure.
std::optional<Amount> ProcessTotal(const Report& report, const Metric& metric);

// The sum over the segments of all processes in one trace, as in the rows.
std::uint64_t SumOfSegments(const Report& report, const Metric& metric);

}  // namespace countrace::rmap::diff

#endif  // COUNTRACE_RMAP_DIFF_ALIGNED_ROWS_H_
