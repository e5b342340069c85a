// Conditional counts: the calls of a segment for which a condition over their
// own times and counts holds, beside the rest, for `report --given`.
//
// In: the spans of calls, each whole; one with a part that is not known (lost
// records, a rotation of event sets) is in neither group for that number, and
// one whose condition is not known in none. Out: the means of both, and diff's
// test of their difference. Memory: by segments, kMostKept calls of each group.
// Thread: one.
#ifndef COUNTRACE_RMAP_GIVEN_CALLS_H_
#define COUNTRACE_RMAP_GIVEN_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/trace_info.h"
#include "rmap/diff/diff_tables.h"
#include "rmap/diff/difference.h"
#include "rmap/pipeline.h"
#include "rmap/result/timeline_observer.h"
#include "rmap/where/where_expression.h"

namespace countrace::rmap {

struct GivenRow {
  std::uint32_t hook_id;
  std::string number;                               // "wall_ns", an event
  std::uint64_t given = 0, rest = 0, unknown = 0;   // calls
  std::optional<double> mean_given{}, mean_rest{};  // of a call
  // From the rest to the given ones. Absent if either has no call, or if the
  // condition itself is of the number: that it differs says nothing.
  std::optional<diff::Change> change{};
};

class GivenCalls final : public TimelineObserver {
 public:
  // The spread is taken from so many calls of a group, chosen by chance.
  static constexpr std::size_t kMostKept = 20'000;

  // Fields are wall_ns, on_cpu_ns and the events that calls have. `hooks`: the
  // segments.
  // Errors: kInvalidArgument with the place: there is no such field.
  static absl::StatusOr<GivenCalls> Bind(where::WhereExpression given,
                                         const logformat::TraceInfo& info,
                                         std::set<std::uint32_t> hooks,
                                         TableRange range);

  bool WantsCallCounts() const override { return true; }
  void OnSegment(const SegmentSpan& span) override;
  // Segments by their number, each with its numbers in the order of fields; all
  // are tested together.
  std::vector<GivenRow> Take();

 private:
  GivenCalls(where::WhereExpression given, std::set<std::uint32_t> hooks,
             TableRange range)
      : given_(std::move(given)), hooks_(std::move(hooks)), range_(range) {}
  struct Group {
    std::uint64_t calls = 0;
    double sum = 0;
    diff::Sample kept{};
    std::optional<double> Mean() const {
      if (calls == 0) return std::nullopt;
      return sum / static_cast<double>(calls);
    }
  };
  struct Segment {
    std::vector<Group> given, rest;  // by field
    std::uint64_t unknown = 0;
  };
  std::vector<std::optional<std::uint64_t>> ValuesOf(
      const SegmentSpan& span) const;
  void Add(std::uint64_t value, Group& group);
  std::optional<std::size_t> FieldOf(const std::string& name) const;

  where::WhereExpression given_, rest_;  // rest_: its negation
  std::set<std::uint32_t> hooks_;
  std::set<std::size_t> in_condition_;  // fields
  TableRange range_;
  std::vector<std::string> fields_;
  bool has_faults_ = false;                   // each has a record
  std::map<std::size_t, std::size_t> dumps_;  // field by place in span.dumps
  std::map<std::uint32_t, Segment> segments_;
  std::mt19937_64 random_{1};
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_GIVEN_CALLS_H_
