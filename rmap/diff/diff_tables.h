// The result of a comparison, printed by `countrace diff`. Sums are means over
// the runs of a side, "per run".
#ifndef COUNTRACE_RMAP_DIFF_DIFF_TABLES_H_
#define COUNTRACE_RMAP_DIFF_DIFF_TABLES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rmap/diff/difference.h"
#include "rmap/result/tables.h"

namespace countrace::rmap::diff {

struct Change {
  double before = 0, after = 0;  // means
  // For after - before: noise between runs, errors of estimates, and what may
  // be missing; absent if there is none of them. One run each: without noise.
  // Where `before` is above 0 it is that of the ratio, times `before`.
  std::optional<Interval> interval;
  // How often noise alone makes such a difference; absent with one run each.
  std::optional<double> p;
  // A change of this size would be found with 80 % probability. Absent with one
  // run each, and if anything may be missing.
  std::optional<double> detectable;
  Verdict verdict = Verdict::kWithinNoise;
  Quality quality = Quality::kExact;  // the worst of both sides
  bool constant = false;  // the same number in every run of both sides
  // For the means, if they are estimates from event sets.
  SamplingError error_before, error_after;

  double value() const { return after - before; }
  bool IsSure() const {
    return verdict == Verdict::kBeyondNoise ||
           verdict == Verdict::kNoiseUnknown;
  }
};

struct MetricChange {
  std::string metric;  // "calls", "wall", "on-CPU", "off-CPU", an event
  bool is_time = false;
  Change self;                     // without inner segments; for calls: calls
  std::optional<Change> per_call;  // self per call
  double incl_before = 0, incl_after = 0;
  // Part of the change of all processes; all parts add up to 1. Absent if that
  // change is within noise.
  std::optional<double> share;

  // True if noise does not explain the change.
  bool Differs() const {
    return self.verdict != Verdict::kWithinNoise ||
           (per_call && per_call->verdict != Verdict::kWithinNoise);
  }
};

struct RowChange {
  enum class Presence : std::uint8_t { kBoth, kOnlyBefore, kOnlyAfter };
  std::string process;
  std::vector<std::string> path;  // empty: outside all segments
  bool interrupts = false;        // an interrupt of a CPU, in no process
  bool small = false;   // less than a hundredth of wall and on-CPU time
  bool marked = false;  // of a recorded command, or --mark
  Presence presence = Presence::kBoth;
  std::vector<MetricChange> metrics;

  bool Differs() const;
  const MetricChange* Find(const std::string& metric) const;
};

// The accounts of one metric over both sides: total = segments +
// not_in_segments + idle + ... + residual. Sums over the runs, not means, and
// modulo 2^64, so that they balance to the last digit for any trace; Signed()
// is the value (a residual can be negative).
struct Accounts {
  std::uint64_t total = 0;
  std::uint64_t segments = 0, not_in_segments = 0;  // sums over all processes
  std::uint64_t idle = 0, interrupts = 0, outside = 0, unattributed = 0;
  std::uint64_t residual = 0;
  // Not 0: the comparison lost something.
  std::uint64_t Unexplained() const {
    return total - segments - not_in_segments - idle - interrupts - outside -
           unattributed - residual;
  }
};
constexpr std::int64_t Signed(std::uint64_t account) {
  return static_cast<std::int64_t>(account);
}
struct Balance {
  std::string metric;
  bool is_time = false;
  Accounts before, after;
};

enum class ThresholdVerdict : std::uint8_t { kHolds, kUndecided, kRegression };
struct ThresholdResult {
  std::string text;     // as given
  std::string subject;  // "all processes", or a segment
  std::string metric;
  bool is_time = false;
  bool per_call = false;
  double percent = 0;  // the allowed change
  Change change;       // with its 95 % interval, for all thresholds together
  ThresholdVerdict verdict = ThresholdVerdict::kHolds;
};

struct TraceOfSide {
  std::string path, command, hostname, kernel_release, scope;
  std::uint64_t begin_ns = 0, end_ns = 0, records = 0;
  std::uint32_t cpus = 0;
  std::uint64_t discarded_events = 0, discarded_packets = 0;
};

// With `runs` a side, a comparison of these numbers finds a change of one of
// them with 80 % probability, if it deviates by `deviation` from run to run.
struct RunsNeeded {
  double change = 0, deviation = 0;  // parts of the number
  std::size_t runs = 0;
};

struct Diff {
  std::vector<TraceOfSide> before, after;
  std::vector<std::string> explanations;  // most important first
  std::vector<MetricChange> totals;   // "elapsed", and sums over all processes
  std::vector<RowChange> rows;        // largest change first
  std::size_t rows_within_noise = 0;  // part of `rows`
  std::vector<Balance> balances;
  std::vector<ThresholdResult> thresholds;
  std::vector<std::string> notes;  // limits of this comparison
  // The tests behind the verdicts: how many, how many were beyond noise, and
  // the tail of their intervals (number_tests.h).
  std::size_t tests = 0, discoveries = 0;
  double tail = 0, tail_of_small_rows = 0;
  std::vector<RunsNeeded> advice;  // with one run each

  bool IsOneRunEach() const { return before.size() == 1 && after.size() == 1; }
  std::size_t runs_before() const { return before.size(); }
  std::size_t runs_after() const { return after.size(); }
  bool HasRegression() const;
};

// An entry of Diff::totals; null if there is none.
const MetricChange* FindTotal(const Diff& diff, const std::string& metric);

}  // namespace countrace::rmap::diff

#endif  // COUNTRACE_RMAP_DIFF_DIFF_TABLES_H_
