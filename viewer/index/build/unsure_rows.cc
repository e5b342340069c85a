#include "viewer/index/build/unsure_rows.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <utility>

namespace countrace::viewer {
namespace {

using rmap::Number;

// Limits of an estimate limit nothing that was counted.
template <typename Row>
bool HasLimits(const Row& row) {
  const auto& entries = row.bounds.entries();
  return std::any_of(entries.begin(), entries.end(), [&](const auto& entry) {
    if (entry.first < Number::kCounts) return true;
    const auto event = (static_cast<std::size_t>(entry.first) -
                        static_cast<std::size_t>(Number::kCounts)) /
                       3;
    return event >= row.scaled.size() || !row.scaled[event];
  });
}

// A dispatch that a loss cut is two leaves; and of several dispatches together
// it is not known which has what.
template <typename Row>
bool IsUnsure(const Row& row, const LeafSums& sums) {
  if (!row.on_cpu_ns || *row.on_cpu_ns != sums.on_cpu_ns ||
      row.dispatches != sums.dispatches || HasLimits(row)) {
    return true;
  }
  for (std::size_t event = 0; event < row.counts.size(); ++event) {
    const std::uint64_t leaves =
        event < sums.counts.size() ? sums.counts[event] : 0;
    if (event < row.scaled.size() && row.scaled[event]) continue;
    if (row.counts[event].value_or(leaves) != leaves) return true;
  }
  return false;
}

bool HasUnsureCalls(const rmap::SegmentRow& row) {
  const auto& entries = row.bounds.entries();
  return std::any_of(entries.begin(), entries.end(), [](const auto& entry) {
    constexpr std::array kNumbers = {Number::kCalls, Number::kWallIncl,
                                     Number::kWallExcl, Number::kOnCpuIncl,
                                     Number::kOnCpuExcl};
    return std::count(kNumbers.begin(), kNumbers.end(), entry.first) != 0;
  });
}

// GroupFlags by process and hook.
using SegmentFlags =
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>;
SegmentFlags FlagsOfSegments(const rmap::Report& report,
                             const logformat::TraceInfo& info) {
  std::map<std::string, std::uint32_t> ids;
  for (const logformat::HookInfo& hook : info.hooks) {
    ids.try_emplace(hook.FullName(), hook.id);
  }
  SegmentFlags flags;
  const auto add = [&](const rmap::SegmentRow& row, std::uint32_t flag) {
    const auto id = ids.find(row.segment);
    if (id == ids.end()) return;
    flags[{static_cast<std::uint32_t>(row.process), id->second}] |= flag;
  };
  for (const rmap::SegmentRow& row : report.segments) {
    if (HasUnsureCalls(row)) add(row, kGroupUnsure);
    if (row.qualities.Has(rmap::Quality::kInferred) &&
        row.begin_inferred + row.end_inferred == 0) {
      add(row, kGroupInferred);
    }
  }
  for (const rmap::SegmentRow& row : report.segment_paths) {
    if (HasUnsureCalls(row)) add(row, kGroupUnsure);
  }
  return flags;
}

}  // namespace

void LeafSums::Add(const LeafSums& other) {
  on_cpu_ns += other.on_cpu_ns;
  wait_ns += other.wait_ns;
  dispatches += other.dispatches;
  counts.resize(std::max(counts.size(), other.counts.size()));
  for (std::size_t i = 0; i < other.counts.size(); ++i) {
    counts[i] += other.counts[i];
  }
}

void MarkUnsureRows(const rmap::Report& report,
                    const logformat::TraceInfo& info,
                    std::map<std::uint32_t, LeafSums>& sums, NameTables& names,
                    std::vector<RowEntry>& rows,
                    std::vector<GroupEntry>& groups) {
  std::map<std::uint32_t, LeafSums> of_processes;
  for (const rmap::ThreadRow& row : report.threads) {
    const auto number = static_cast<std::uint32_t>(row.index);
    const LeafSums& own = sums[number];
    of_processes[static_cast<std::uint32_t>(row.process)].Add(own);
    names.threads[number].unsure =
        !row.on_cpu_ns ? kUnsureAnywhere
        : IsUnsure(row, own) || row.wait_ns.value_or(0) != own.wait_ns
            ? kUnsureInGaps
            : kSure;
  }
  for (const rmap::ProcessRow& row : report.processes) {
    const auto number = static_cast<std::uint32_t>(row.index);
    names.processes[number].unsure =
        IsUnsure(row, of_processes[number]) ? kUnsureInGaps : kSure;
  }
  for (const ThreadEntry& thread : names.threads) {
    if (thread.process >= names.processes.size()) continue;
    std::uint32_t& unsure = names.processes[thread.process].unsure;
    unsure = std::max(unsure, thread.unsure);
  }
  std::set<std::uint32_t> cpus;
  for (const rmap::CpuRow& row : report.cpu_rows) {
    if (HasLimits(row)) cpus.insert(row.cpu);
  }
  for (RowEntry& row : rows) {
    if (row.kind == RowKind::kCpu && cpus.contains(row.owner)) {
      row.flags |= kRowUnsure;
    }
  }
  const SegmentFlags flags = FlagsOfSegments(report, info);
  for (GroupEntry& group : groups) {
    const auto found = flags.find({group.process, group.key});
    if (found != flags.end()) group.flags = found->second;
  }
}

}  // namespace countrace::viewer
