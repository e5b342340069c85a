#include "viewer/server/tables/reported_tables.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "logformat/packet_layout.h"
#include "viewer/index/range/run_totals.h"

namespace countrace::viewer {
namespace {

template <typename Row>
RunTotals RunOf(const Row& row) {
  RunTotals run;
  run.on_cpu_ns = *row.on_cpu_ns;
  run.dispatches = row.dispatches;
  run.qualities = row.qualities;
  run.bounds = &row.bounds;
  for (const auto& count : row.counts) {
    run.counts.push_back(count.value_or(0));
    run.marks.push_back(count ? CountMark::kExact : CountMark::kUnknown);
  }
  return run;
}

bool IsIdle(const RunTotals& run) {
  return run.on_cpu_ns == 0 && run.dispatches == 0 && run.bounds->empty() &&
         std::all_of(run.counts.begin(), run.counts.end(),
                     [](std::uint64_t count) { return count == 0; });
}

SegmentTotals CallsOf(std::uint32_t hook_id, const rmap::SegmentRow& row) {
  SegmentTotals calls{.process = static_cast<std::uint32_t>(row.process),
                      .hook_id = hook_id,
                      .calls = row.calls,
                      .wall_incl_ns = row.wall.incl,
                      .wall_excl_ns = row.wall.excl,
                      .on_cpu_known = row.on_cpu.has_value(),
                      .qualities = row.qualities,
                      .bounds = &row.bounds};
  calls.begun_ns =
      row.calls * static_cast<std::uint64_t>(std::llround(row.wall.mean));
  if (row.on_cpu) {
    calls.on_cpu_incl_ns = row.on_cpu->incl;
    calls.on_cpu_excl_ns = row.on_cpu->excl;
  }
  return calls;
}

// Segments, and point hooks that are not of the kernel's idle process.
void AddCalled(const TimelineIndex& index, const rmap::Report& report,
               RangeTotals& totals) {
  std::map<std::uint32_t, const HookEntry*> hooks;
  for (const HookEntry& hook : index.hooks()) hooks.emplace(hook.id, &hook);
  const auto is = [](const HookEntry& hook, logformat::HookKind kind) {
    return hook.kind == static_cast<std::uint16_t>(kind);
  };
  for (const rmap::SegmentRow& row : report.segments) {
    const auto found = hooks.find(row.hook_id);
    if (found == hooks.end() ||
        found->second->origin ==
            static_cast<std::uint16_t>(logformat::HookOrigin::kInterrupt) ||
        (row.calls == 0 && row.wall.incl == 0 && row.bounds.empty())) {
      continue;
    }
    totals.segments.push_back(CallsOf(row.hook_id, row));
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> hits;
  for (const rmap::HookRow& row : report.hooks) {
    const auto found = hooks.find(row.hook_id);
    if (found == hooks.end() || row.pid == 0 ||
        is(*found->second, logformat::HookKind::kSegment)) {
      continue;
    }
    hits[{static_cast<std::uint32_t>(row.process), row.hook_id}] += row.hits;
  }
  for (const auto& [key, count] : hits) {
    totals.hooks.push_back({key.first, key.second, count});
  }
  std::stable_sort(totals.segments.begin(), totals.segments.end(),
                   [](const SegmentTotals& a, const SegmentTotals& b) {
                     return std::tie(b.wall_excl_ns, a.process, a.hook_id) <
                            std::tie(a.wall_excl_ns, b.process, b.hook_id);
                   });
  std::stable_sort(
      totals.hooks.begin(), totals.hooks.end(),
      [](const auto& a, const auto& b) { return a.hits > b.hits; });
}

// What no process had. `known_ns`: what the processes had.
void AddRest(const TimelineIndex& index, TimeRange range,
             const rmap::Report& report, std::uint64_t known_ns,
             RangeTotals& totals) {
  for (const rmap::CpuRow& cpu : report.cpu_rows) {
    totals.idle.on_cpu_ns += cpu.idle_ns;
    totals.outside.on_cpu_ns += cpu.outside_ns;
    totals.interrupts_ns += cpu.interrupts_ns;
  }
  for (const auto& [run, part] : {std::pair(&totals.idle, &rmap::Books::idle),
                                  {&totals.outside, &rmap::Books::outside}}) {
    for (std::size_t i = 0; i < report.events.size(); ++i) {
      const bool known = i < report.books.size() && report.books[i].known;
      run->counts.push_back(known ? report.books[i].*part : 0);
      run->marks.push_back(known ? CountMark::kExact : CountMark::kUnknown);
    }
  }
  known_ns +=
      totals.idle.on_cpu_ns + totals.outside.on_cpu_ns + totals.interrupts_ns;
  totals.cpu_ns = CountedRange(index, range).wall_ns * report.cpu_rows.size();
  totals.unknown_ns = totals.cpu_ns - std::min(totals.cpu_ns, known_ns);
}

}  // namespace

SortedTables TablesOfReport(const TimelineIndex& index, TimeRange range,
                            const rmap::Report& report) {
  SortedTables tables;
  std::uint64_t known_ns = 0;
  for (const rmap::ProcessRow& row : report.processes) {
    if (!row.on_cpu_ns) continue;
    RunTotals run = RunOf(row);
    known_ns += run.on_cpu_ns;
    if (IsIdle(run)) continue;
    tables.totals.processes.push_back(
        {static_cast<std::uint32_t>(row.index), std::move(run)});
  }
  for (const rmap::ThreadRow& row : report.threads) {
    if (!row.on_cpu_ns) continue;
    ThreadTotals thread{.thread = static_cast<std::uint32_t>(row.index),
                        .run = RunOf(row),
                        .wait_ns = row.wait_ns.value_or(0),
                        .blocked_ns = row.blocked_ns};
    if (IsIdle(thread.run) && thread.wait_ns == 0 &&
        thread.blocked_ns.value_or(0) == 0) {
      continue;
    }
    tables.threads.push_back(std::move(thread));
  }
  AddCalled(index, report, tables.totals);
  AddRest(index, range, report, known_ns, tables.totals);
  tables.cpus = report.cpu_rows;
  return tables;
}

}  // namespace countrace::viewer
