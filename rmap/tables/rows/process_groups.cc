#include "rmap/tables/rows/process_groups.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "rmap/state/unseen_state.h"

namespace countrace::rmap {
namespace {

void Add(const std::optional<std::uint64_t>& more,
         std::optional<std::uint64_t>& sum) {
  if (more) sum = sum.value_or(0) + *more;
}

// As if both estimates erred in the same direction.
void Add(const std::optional<ScaledCount>& more,
         std::optional<ScaledCount>& sum) {
  if (!more) return;
  if (!sum) {
    sum = more;
    return;
  }
  sum->value += more->value;
  sum->counted += more->counted;
  sum->running += more->running;
  sum->enabled += more->enabled;
  sum->between += more->between;
  sum->slices += more->slices;
  if (sum->standard_error && more->standard_error) {
    *sum->standard_error += *more->standard_error;
  } else {
    sum->standard_error.reset();
  }
  sum->freedom = std::min(sum->freedom, more->freedom);
}

std::uint64_t ValueOf(const ProcessRow& row, Number number) {
  switch (number) {
    case Number::kOnCpu:
      return row.on_cpu_ns.value_or(0);
    case Number::kDispatches:
      return row.dispatches;
    case Number::kThreads:
      return row.threads;
    default:
      break;
  }
  const std::size_t event = (static_cast<std::size_t>(number) -
                             static_cast<std::size_t>(Number::kCounts)) /
                            3;
  return event < row.counts.size() ? row.counts[event].value_or(0) : 0;
}

Bounds LimitsOf(const ProcessRow& row, Number number) {
  const std::uint64_t value = ValueOf(row, number);
  return row.bounds.Of(number).value_or(Bounds{value, value});
}

// Every number that has an interval in one of the two has one in the sum.
RowBounds SumOfBounds(const ProcessRow& sum, const ProcessRow& more) {
  RowBounds bounds;
  for (const ProcessRow* row : {&sum, &more}) {
    for (const auto& [number, interval] : row->bounds.entries()) {
      if (bounds.Of(number)) continue;
      const Bounds a = LimitsOf(sum, number), b = LimitsOf(more, number);
      bounds.Set(number, ValueOf(sum, number) + ValueOf(more, number),
                 {AddBounded(a.lo, b.lo), AddBounded(a.hi, b.hi)});
    }
  }
  return bounds;
}

void Add(const ProcessRow& more, ProcessRow& sum) {
  sum.bounds = SumOfBounds(sum, more);
  sum.processes += more.processes;
  sum.pid = sum.parent_pid = sum.own_pid = sum.host_pid = 0;
  if (sum.comm != more.comm) sum.comm.clear();
  if (sum.uid != more.uid) sum.uid.reset();
  if (sum.user != more.user) sum.user.clear();
  if (sum.cgroup != more.cgroup) sum.cgroup.clear();
  sum.first_seen_ns = std::min(sum.first_seen_ns, more.first_seen_ns);
  sum.last_seen_ns = std::max(sum.last_seen_ns, more.last_seen_ns);
  sum.threads += more.threads;
  Add(more.on_cpu_ns, sum.on_cpu_ns);
  for (const ProgramTime& program : more.before_exec) {
    AddProgramTime(program, sum.before_exec);
  }
  sum.dispatches += more.dispatches;
  Add(more.recording_ns, sum.recording_ns);
  for (std::size_t i = 0; i < sum.counts.size(); ++i) {
    Add(more.counts[i], sum.counts[i]);
  }
  sum.scaled.resize(std::max(sum.scaled.size(), more.scaled.size()));
  for (std::size_t i = 0; i < more.scaled.size(); ++i) {
    Add(more.scaled[i], sum.scaled[i]);
  }
  for (const Quality quality :
       {Quality::kScaled, Quality::kBounded, Quality::kInferred}) {
    if (more.qualities.Has(quality)) sum.qualities.Add(quality);
  }
  sum.quality = sum.qualities.Worst();
  sum.in_scope |= more.in_scope;
  sum.marked |= more.marked;
}

}  // namespace

void AddProgramTime(const ProgramTime& more, std::vector<ProgramTime>& sums) {
  const auto same = std::find_if(
      sums.begin(), sums.end(),
      [&more](const ProgramTime& sum) { return sum.comm == more.comm; });
  if (same == sums.end()) {
    sums.push_back(more);
  } else {
    same->on_cpu_ns += more.on_cpu_ns;
  }
}

const std::string& GroupOf(const ProcessRow& process,
                           const std::string& field) {
  if (field == "user") return process.user;
  if (field == "cgroup") return process.cgroup;
  return process.comm;
}

std::vector<ProcessRow> ProcessesBy(const std::string& field,
                                    const std::vector<ProcessRow>& processes) {
  std::map<std::string, ProcessRow> sums;
  for (const ProcessRow& process : processes) {
    const auto [sum, first] = sums.emplace(GroupOf(process, field), process);
    if (!first) Add(process, sum->second);
  }
  std::vector<ProcessRow> rows;
  for (auto& [value, sum] : sums) rows.push_back(std::move(sum));
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ProcessRow& a, const ProcessRow& b) {
                     return a.on_cpu_ns > b.on_cpu_ns;
                   });
  return rows;
}

}  // namespace countrace::rmap
