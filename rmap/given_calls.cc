#include "rmap/given_calls.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/text/name_escape.h"
#include "rmap/diff/number_tests.h"
#include "rmap/tables/input/attribution.h"
#include "rmap/where/condition_truth.h"

namespace countrace::rmap {
namespace {

constexpr std::size_t kWall = 0, kOnCpu = 1, kSwitches = 2, kFaults = 3;

double MeanOf(const diff::Sample& kept) {
  const auto& values = kept.values;
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

}  // namespace

absl::StatusOr<GivenCalls> GivenCalls::Bind(where::WhereExpression given,
                                            const logformat::TraceInfo& info,
                                            std::set<std::uint32_t> hooks,
                                            TableRange range) {
  GivenCalls calls(std::move(given), std::move(hooks), range);
  calls.fields_ = {"wall_ns", "on_cpu_ns", "context-switches", "page-faults"};
  calls.has_faults_ = std::ranges::any_of(info.cpu_events, IsPageFaults);
  std::size_t place = 0;
  for (const auto* events : {&info.thread_events, &info.cpu_events}) {
    for (const std::string& event : *events) {
      const auto known = calls.FieldOf(event);
      if (!known) calls.fields_.push_back(event);
      calls.dumps_[place++] = known.value_or(calls.fields_.size() - 1);
    }
  }
  calls.rest_ = calls.given_;
  calls.rest_.steps.emplace_back().kind = where::WhereStep::Kind::kNot;
  for (const where::WhereStep& step : calls.given_.steps) {
    if (step.kind != where::WhereStep::Kind::kCompare) continue;
    for (const where::Operand* side : {&step.left, &step.right}) {
      if (side->kind == where::Operand::Kind::kNumber) continue;
      if (side->kind == where::Operand::Kind::kField &&
          calls.FieldOf(side->text)) {
        calls.in_condition_.insert(*calls.FieldOf(side->text));
        continue;
      }
      return where::WhereError(
          calls.given_, side->offset,
          absl::StrFormat("calls have no number `%s`; there are %s",
                          base::EscapeName(side->text),
                          absl::StrJoin(calls.fields_, ", ")));
    }
  }
  return calls;
}

std::optional<std::size_t> GivenCalls::FieldOf(const std::string& name) const {
  const auto found = std::ranges::find(fields_, name);
  if (found == fields_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - fields_.begin());
}

std::vector<std::optional<std::uint64_t>> GivenCalls::ValuesOf(
    const SegmentSpan& span) const {
  std::vector<std::optional<std::uint64_t>> values(fields_.size());
  values[kWall] = span.end_ns - span.begin_ns;
  if (span.on_cpu_ns && span.on_cpu_exact) {
    values[kOnCpu] = span.on_cpu_ns;
    values[kSwitches] = span.switches;
    if (has_faults_) values[kFaults] = span.faults;
  }
  for (const auto& [place, field] : dumps_) {
    if (place < span.dumps.size() && span.dumps[place]) {
      values[field] = span.dumps[place];
    }
  }
  return values;
}

void GivenCalls::Add(std::uint64_t value, Group& group) {
  ++group.calls;
  group.sum += static_cast<double>(value);
  std::vector<double>& kept = group.kept.values;
  if (kept.size() < kMostKept) {
    kept.push_back(static_cast<double>(value));
  } else if (const std::uint64_t place = random_() % group.calls;
             place < kMostKept) {
    kept[place] = static_cast<double>(value);
  }
}

void GivenCalls::OnSegment(const SegmentSpan& span) {
  if (!hooks_.contains(span.hook_id) || span.begin_inferred ||
      span.begin_ns < range_.from_ns || span.begin_ns >= range_.until_ns) {
    return;
  }
  Segment& segment = segments_[span.hook_id];
  segment.given.resize(fields_.size());
  segment.rest.resize(fields_.size());
  const auto values = ValuesOf(span);
  const auto of = [&](std::size_t i, bool left) -> Cell {
    const where::WhereStep& step = given_.steps[i];
    const auto value = values[*FieldOf((left ? step.left : step.right).text)];
    return value ? Cell(*value) : Cell();
  };
  const bool holds = where::Holds(given_, of);
  if (span.end_inferred || (!holds && !where::Holds(rest_, of))) {
    ++segment.unknown;
    return;
  }
  std::vector<Group>& groups = holds ? segment.given : segment.rest;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i]) Add(*values[i], groups[i]);
  }
}

std::vector<GivenRow> GivenCalls::Take() {
  using diff::NumberTests;
  constexpr double kRate = 0.05;  // as diff's
  NumberTests tests;
  std::vector<GivenRow> rows;
  std::vector<std::pair<diff::Sample, diff::Sample>> samples;
  for (auto& [hook_id, segment] : segments_) {
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      Group& given = segment.given[i];
      Group& rest = segment.rest[i];
      if (given.calls + rest.calls == 0) continue;
      GivenRow row{.hook_id = hook_id,
                   .number = fields_[i],
                   .given = given.calls,
                   .rest = rest.calls,
                   .unknown = segment.unknown};
      row.mean_given = given.Mean();
      row.mean_rest = rest.Mean();
      samples.emplace_back(std::move(rest.kept), std::move(given.kept));
      if (row.mean_given && row.mean_rest && !in_condition_.contains(i)) {
        row.change = tests.Begin(samples.back().first, samples.back().second,
                                 Quality::kExact, NumberTests::kLarge);
        row.change->before = *row.mean_rest;
        row.change->after = *row.mean_given;
      }
      rows.push_back(std::move(row));
    }
  }
  tests.Decide(kRate);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].change) continue;
    const auto& [rest, given] = samples[i];
    diff::Change& change = *rows[i].change;
    tests.End(rest, given, NumberTests::kLarge, change);
    if (!change.interval) continue;
    // Around the difference of all calls, not of those that are kept.
    const double moved = change.value() - (MeanOf(given) - MeanOf(rest));
    change.interval->low += moved;
    change.interval->high += moved;
  }
  return rows;
}

}  // namespace countrace::rmap
