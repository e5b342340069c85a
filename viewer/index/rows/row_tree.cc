#include "viewer/index/rows/row_tree.h"

#include <algorithm>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "logformat/packet_layout.h"
#include "viewer/index/rows/point_row.h"
#include "viewer/index/rows/thread_run.h"

namespace countrace::viewer {
namespace {

bool IsOfThreads(RowKind kind) {
  return kind == RowKind::kThreadRun || kind == RowKind::kHook ||
         kind == RowKind::kSegment || kind == RowKind::kThreadWait ||
         kind == RowKind::kFault || kind == RowKind::kThreadBlocked;
}

// Calls `take(process, branch)` for each thread that has rows to draw.
class ThreadReader {
 public:
  ThreadReader(const TimelineIndex& index, TimeRange range,
               const std::vector<bool>& hooked)
      : index_(index), range_(range), hooked_(hooked), interrupts_(index) {}

  template <typename Wanted, typename Take>
  void Read(Wanted wanted, Take take) const {
    const auto rows = index_.rows();
    for (std::uint32_t number = 0; number < rows.size();) {
      if (!IsOfThreads(rows[number].kind)) {
        ++number;
        continue;
      }
      std::uint32_t end = number + 1;
      while (end < rows.size() && IsOfThreads(rows[end].kind) &&
             rows[end].owner == rows[number].owner) {
        ++end;
      }
      const std::uint32_t process = index_.ProcessOf(rows[number].owner);
      if (wanted(process)) {
        const ThreadBranch branch = BranchOf(process, number, end);
        if (branch.rows > 0) take(process, branch);
      }
      number = end;
    }
  }

 private:
  // No rows: there is nothing to draw.
  ThreadBranch BranchOf(std::uint32_t process, std::uint32_t begin,
                        std::uint32_t end) const {
    ThreadBranch branch{.thread = index_.rows()[begin].owner,
                        .first_row = begin};
    const bool own = process < hooked_.size() && hooked_[process];
    bool runs = false;
    for (std::uint32_t number = begin; number < end; ++number) {
      const RowEntry& entry = index_.rows()[number];
      if (entry.leaves == 0) continue;
      if (entry.kind == RowKind::kThreadRun) {
        runs = true;
        branch.rows = end - begin;
        const ThreadRun run(index_, number, interrupts_);
        if (!Touches(run.dispatches())) continue;
        branch.active = true;
        branch.on_cpu_ns =
            run.OnCpuBefore(range_.end_ns) - run.OnCpuBefore(range_.begin_ns);
      } else if (entry.kind == RowKind::kThreadWait) {
        if (!branch.active) {
          branch.active = Touches(IntervalRow(index_, number));
        }
      } else if (entry.kind == RowKind::kSegment ||
                 entry.kind == RowKind::kHook) {
        branch.calls = true;
        branch.rows = end - begin;
        if (branch.active || (runs && !own)) continue;
        branch.active = entry.kind == RowKind::kHook
                            ? Touches(PointRow(index_, number))
                            : Touches(IntervalRow(index_, number));
      }
    }
    return branch;
  }

  bool Touches(const IntervalRow& row) const {
    if (range_.begin_ns == 0) return row.leaf(0).begin_ns < range_.end_ns;
    const std::uint64_t first = row.FirstNotOver(range_.begin_ns);
    return first < row.size() && row.leaf(first).begin_ns < range_.end_ns;
  }
  bool Touches(const PointRow& row) const {
    const std::uint64_t first = row.FirstAt(range_.begin_ns);
    return first < row.size() && row.Time(first) < range_.end_ns;
  }

  const TimelineIndex& index_;
  const TimeRange range_;
  const std::vector<bool>& hooked_;
  const InterruptRows interrupts_;
};

std::uint64_t InTraceNs(std::uint64_t on_cpu_ns) {
  return on_cpu_ns == kUnknownTime ? 0 : on_cpu_ns;
}

}  // namespace

bool IsOfPrograms(const HookEntry& hook) {
  using logformat::HookOrigin;
  return hook.origin == static_cast<std::uint16_t>(HookOrigin::kProgram) ||
         hook.origin == static_cast<std::uint16_t>(HookOrigin::kProbe);
}

std::vector<bool> HookedProcesses(const TimelineIndex& index) {
  std::unordered_set<std::uint32_t> own;
  for (const HookEntry& hook : index.hooks()) {
    if (IsOfPrograms(hook)) own.insert(hook.id);
  }
  std::vector<bool> hooked(index.processes().size());
  if (own.empty()) return hooked;
  for (const GroupEntry& group : index.groups()) {
    if (group.process < hooked.size() && !hooked[group.process] &&
        own.contains(group.key)) {
      hooked[group.process] = true;
    }
  }
  return hooked;
}

std::vector<ProcessBranch> RankProcesses(const TimelineIndex& index,
                                         TimeRange range) {
  const std::vector<bool> hooked = HookedProcesses(index);
  // The last one is of threads without a process.
  std::vector<ProcessBranch> all(index.processes().size() + 1);
  ThreadReader(index, range, hooked)
      .Read([](std::uint32_t) { return true; },
            [&](std::uint32_t process, const ThreadBranch& thread) {
              const bool known = process < hooked.size();
              ProcessBranch& branch = all[known ? process : hooked.size()];
              branch.process = known ? process : kNoKey;
              branch.hooked = known && hooked[process];
              branch.on_cpu_ns += thread.on_cpu_ns;
              branch.active |= thread.active;
              branch.active_threads += thread.active ? 1 : 0;
              if (branch.threads++ == 0) branch.first = thread;
            });
  std::erase_if(all, [](const ProcessBranch& one) { return one.threads == 0; });
  const auto in_trace_ns = [&index](std::uint32_t process) {
    return process < index.processes().size()
               ? InTraceNs(index.processes()[process].on_cpu_ns)
               : 0;
  };
  const auto key = [&](const ProcessBranch& one) {
    // Ties by number, so that answers are deterministic.
    return std::tuple(!(one.active && one.hooked), !one.active, ~one.on_cpu_ns,
                      ~in_trace_ns(one.process), one.process);
  };
  std::sort(all.begin(), all.end(),
            [&](const ProcessBranch& a, const ProcessBranch& b) {
              return key(a) < key(b);
            });
  return all;
}

std::vector<ThreadBranch> RankThreads(const TimelineIndex& index,
                                      std::uint32_t process, TimeRange range) {
  const std::vector<bool> hooked = HookedProcesses(index);
  std::vector<ThreadBranch> threads;
  ThreadReader(index, range, hooked)
      .Read([process](std::uint32_t of) { return of == process; },
            [&](std::uint32_t, const ThreadBranch& thread) {
              threads.push_back(thread);
            });
  const auto key = [](const ThreadBranch& one) {
    return std::tuple(!one.active, !one.calls, ~one.on_cpu_ns);
  };
  // The index's order is that of the whole trace.
  std::stable_sort(threads.begin(), threads.end(),
                   [&](const ThreadBranch& a, const ThreadBranch& b) {
                     return key(a) < key(b);
                   });
  return threads;
}

}  // namespace countrace::viewer
