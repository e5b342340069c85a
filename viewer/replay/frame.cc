#include "viewer/replay/frame.h"

#include <algorithm>
#include <map>
#include <utility>

#include "viewer/index/range/range_totals.h"
#include "viewer/index/rows/thread_run.h"

namespace countrace::viewer {
namespace {

void Sort(std::vector<RecentTime>& times) {
  std::stable_sort(times.begin(), times.end(),
                   [](const RecentTime& a, const RecentTime& b) {
                     return a.on_cpu_ns > b.on_cpu_ns;
                   });
}

void AddRecentTimes(const TimelineIndex& index, TimeRange window,
                    Frame& frame) {
  const InterruptRows interrupts(index);
  std::map<std::uint32_t, std::uint64_t> processes;
  const auto rows = index.rows();
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    if (rows[row].kind != RowKind::kThreadRun) continue;
    const std::uint32_t thread = rows[row].owner;
    const ThreadEntry& entry = index.threads()[thread];
    if (entry.last_seen_ns < window.begin_ns ||
        entry.first_seen_ns > window.end_ns) {
      continue;
    }
    const ThreadRun run(index, row, interrupts);
    const std::uint64_t ns =
        run.OnCpuBefore(window.end_ns) - run.OnCpuBefore(window.begin_ns);
    if (ns == 0) continue;
    frame.threads.push_back({thread, ns});
    processes[index.ProcessOf(thread)] += ns;
  }
  processes.erase(kNoKey);
  for (const auto& [process, ns] : processes) {
    frame.processes.push_back({process, ns});
  }
  Sort(frame.threads);
  Sort(frame.processes);
}

void AddHits(const TimelineIndex& index, TimeRange window, Frame& frame) {
  constexpr RangeTables kHooks = {.segments = false, .hooks = true};
  std::map<std::uint32_t, HookHits> hooks;
  for (const HookTotals& sum :
       TotalsIn(index, {0, window.end_ns}, kHooks).hooks) {
    hooks[sum.hook_id].total += sum.hits;
  }
  for (const HookTotals& sum : TotalsIn(index, window, kHooks).hooks) {
    hooks[sum.hook_id].recent += sum.hits;
  }
  for (auto& [id, hits] : hooks) {
    hits.hook_id = id;
    frame.hooks.push_back(hits);
  }
}

}  // namespace

Frame FrameAt(const TimelineIndex& index, std::uint64_t time_ns,
              std::uint64_t window_ns, std::set<std::uint32_t> also) {
  Frame frame;
  const TimeRange window = {time_ns - std::min(time_ns, window_ns), time_ns};
  AddRecentTimes(index, window, frame);
  if (index.header().events == 0) AddHits(index, window, frame);
  for (const RecentTime& recent : frame.threads) {
    if (also.size() >= kMaxStateThreads / 2) break;
    also.insert(recent.number);
  }
  frame.state = StateAt(index, time_ns,
                        {.threads = StateThreads::kActive,
                         .also = std::move(also),
                         .window_ns = window_ns,
                         .ranked = true});
  return frame;
}

bool IsIdle(const InstantState& state) {
  return std::all_of(
      state.cpus.begin(), state.cpus.end(), [](const CpuState& cpu) {
        return cpu.known && cpu.thread == kNoKey && !cpu.in_interrupt;
      });
}

}  // namespace countrace::viewer
