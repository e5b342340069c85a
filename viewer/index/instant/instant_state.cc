#include "viewer/index/instant/instant_state.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "logformat/packet_layout.h"
#include "viewer/index/rows/counter_row.h"
#include "viewer/index/rows/interval_row.h"
#include "viewer/index/rows/thread_run.h"

namespace countrace::viewer {
namespace {

// The rows of one thread, which are adjacent.
struct ThreadRows {
  std::uint32_t thread = kNoKey;
  std::optional<std::uint32_t> run, wait;
  std::vector<std::uint32_t> segments;
};

struct FoundThread {
  ThreadState state;
  std::optional<std::uint32_t> run, wait;  // its rows
};

// Small is first.
int RankOf(const ThreadState& thread) {
  switch (thread.state) {
    case RunState::kRunning:
      return 0;
    case RunState::kWaiting:
    case RunState::kThrottled:
      return 1;
    case RunState::kBlocked:
    case RunState::kOffCpu:
    case RunState::kEnded:
      return 2;
    case RunState::kUnknown:
      break;
  }
  return 3;
}

bool IsBefore(const ThreadState& a, const ThreadState& b) {
  const int rank_a = RankOf(a), rank_b = RankOf(b);
  return rank_a != rank_b ? rank_a < rank_b : a.recent_ns > b.recent_ns;
}

class StateReader {
 public:
  StateReader(const TimelineIndex& index, std::uint64_t time_ns,
              const StateOptions& options)
      : index_(index), options_(options), interrupts_(index) {
    state_.time_ns = time_ns;
    const std::uint64_t until_ns = std::min(time_ns, index.duration_ns());
    state_.window_begin_ns = until_ns - std::min(until_ns, options.window_ns);
    state_.events.resize(index.header().events);
  }

  InstantState Read() {
    for (std::uint32_t number = 0; number < index_.rows().size(); ++number) {
      ReadRow(number, index_.rows()[number]);
    }
    EndThread();
    KeepThreads();
    if (state_.in_loss) FindLosses();
    return std::move(state_);
  }

 private:
  void ReadRow(std::uint32_t number, const RowEntry& entry) {
    switch (entry.kind) {
      case RowKind::kQuality:
        state_.in_loss =
            IntervalRow(index_, number).Covering(state_.time_ns).has_value();
        break;
      case RowKind::kCpu:
        state_.cpus.push_back(StateOfCpu(number));
        break;
      case RowKind::kInterrupt:
        for (CpuState& cpu : state_.cpus) {
          if (cpu.cpu == entry.owner) AddOpen(number, nullptr, cpu.interrupts);
        }
        break;
      case RowKind::kThreadRun:
        RowsOf(entry.owner).run = number;
        break;
      case RowKind::kThreadWait:
        RowsOf(entry.owner).wait = number;
        break;
      case RowKind::kSegment:
        RowsOf(entry.owner).segments.push_back(number);
        break;
      case RowKind::kHook:
        RowsOf(entry.owner);
        break;
      case RowKind::kCounter:
        ReadCounters(CounterRow(index_, number));
        break;
      case RowKind::kIdleRun:
      case RowKind::kOutsideRun:
      case RowKind::kThreadBlocked:
      case RowKind::kInterruptTime:
      case RowKind::kFault:
      case RowKind::kLevel:
        break;
    }
  }

  CpuState StateOfCpu(std::uint32_t number) const {
    const IntervalRow row(index_, number);
    CpuState state;
    state.cpu = row.entry().owner;
    state.in_interrupt = interrupts_.IsIn(state.cpu, state_.time_ns);
    state.interrupts_ns = interrupts_.TimeBefore(state.cpu, state_.time_ns);
    state.dispatches = row.FirstBeginning(state_.time_ns + 1);
    const std::optional<std::uint64_t> found = row.Covering(state_.time_ns);
    if (!found) return state;
    const IntervalLeaf leaf = row.leaf(*found);
    state.known = true;
    state.flags = leaf.flags;
    if ((leaf.flags & (kLeafIdle | kLeafOutside)) == 0) state.thread = leaf.key;
    state.begin_ns = leaf.begin_ns;
    state.end_ns = leaf.end_ns;
    return state;
  }

  void ReadCounters(const CounterRow& row) {
    state_.counter_cpus.push_back(row.cpu());
    for (std::uint32_t event = 0; event < state_.events.size(); ++event) {
      EventState& sum = state_.events[event];
      const CounterRow::Value value = row.Before(state_.time_ns, event);
      sum.count += value.count;
      sum.estimated |= value.estimated;
      // Before its first dump and after its last one a CPU counts nothing.
      sum.gap |= value.gap && !value.outside;
      sum.by_cpu.push_back(value.count);
      sum.limits.lo += static_cast<std::uint64_t>(value.lo);
      if (value.hi < 0 || sum.limits.hi == kUnknownTime) {
        sum.limits.hi = kUnknownTime;
      } else {
        sum.limits.hi += static_cast<std::uint64_t>(value.hi);
      }
      const std::uint64_t end_ns =
          std::min(state_.time_ns, index_.duration_ns());
      if (end_ns <= state_.window_begin_ns) continue;
      const CounterRow::Value before =
          row.Before(state_.window_begin_ns, event);
      sum.rate_estimated |= value.estimated || before.estimated;
      const bool first = state_.counter_cpus.size() == 1;
      if (value.gap || before.gap || (!first && !sum.rate)) {
        sum.rate.reset();
        continue;
      }
      sum.rate = sum.rate.value_or(0) +
                 (value.count - before.count) * 1e9 /
                     static_cast<double>(end_ns - state_.window_begin_ns);
    }
  }

  // --- Threads ---------------------------------------------------------------

  ThreadRows& RowsOf(std::uint32_t thread) {
    if (thread != rows_.thread) {
      EndThread();
      rows_ = {};
      rows_.thread = thread;
    }
    return rows_;
  }

  void EndThread() {
    if (rows_.thread == kNoKey || !IsListed(rows_.thread)) return;
    ThreadState thread;
    thread.thread = rows_.thread;
    std::optional<ThreadRun> run;
    if (rows_.run) run.emplace(index_, *rows_.run, interrupts_);
    for (const std::uint32_t number : rows_.segments) {
      AddOpen(number, run ? &*run : nullptr, thread.open);
    }
    FindRunState(run ? &*run : nullptr, thread);
    if (!IsWanted(thread)) {
      if (IsAlive(thread)) ++state_.threads_not_shown;
      return;
    }
    if (run) thread.recent_ns = RecentOf(*run);
    found_.push_back({std::move(thread), rows_.run, rows_.wait});
  }

  std::uint64_t RecentOf(const ThreadRun& run) const {
    const std::uint64_t begin_ns = state_.window_begin_ns;
    return run.OnCpuBefore(std::max(state_.time_ns, begin_ns)) -
           run.OnCpuBefore(begin_ns);
  }

  void KeepThreads() {
    std::vector<std::size_t> order(found_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const bool too_many = order.size() > options_.most;
    if (options_.ranked || too_many) {
      std::stable_sort(order.begin(), order.end(),
                       [this](std::size_t a, std::size_t b) {
                         return IsBefore(found_[a].state, found_[b].state);
                       });
    }
    if (too_many) {
      state_.threads_left_out = order.size() - options_.most;
      order.resize(options_.most);
      if (!options_.ranked) std::sort(order.begin(), order.end());
    }
    for (const std::size_t i : order) {
      FoundThread& found = found_[i];
      if (found.wait) {
        found.state.wait_ns =
            IntervalRow(index_, *found.wait).Before(state_.time_ns, 0).value;
      }
      if (found.run) {
        AddSums(ThreadRun(index_, *found.run, interrupts_), found.state);
      }
      state_.threads.push_back(std::move(found.state));
    }
  }

  // Else no table has it: its process became marked, and only the others count.
  bool IsListed(std::uint32_t thread) const {
    return thread < index_.threads().size() &&
           index_.threads()[thread].listed != 0;
  }

  bool IsAlive(const ThreadState& thread) const {
    if (thread.state != RunState::kUnknown) {
      return thread.state != RunState::kEnded;
    }
    const ThreadEntry& entry = index_.threads()[thread.thread];
    return entry.first_seen_ns <= state_.time_ns &&
           state_.time_ns <= entry.last_seen_ns;
  }

  bool IsWanted(const ThreadState& thread) const {
    if (!thread.open.empty()) return true;
    if (options_.also.contains(thread.thread)) return true;
    switch (options_.threads) {
      case StateThreads::kActive:
        return thread.state == RunState::kRunning ||
               thread.state == RunState::kWaiting ||
               thread.state == RunState::kThrottled;
      case StateThreads::kAll:
        break;
    }
    return IsAlive(thread);
  }

  void AddOpen(std::uint32_t number, const ThreadRun* run,
               std::vector<OpenSegment>& open) const {
    const IntervalRow row(index_, number);
    const std::optional<std::uint64_t> call = row.Covering(state_.time_ns);
    if (!call) return;
    const IntervalLeaf leaf = row.leaf(*call);
    OpenSegment segment{.row = number,
                        .hook_id = leaf.key,
                        .depth = row.entry().depth,
                        .flags = leaf.flags,
                        .begin_ns = leaf.begin_ns,
                        .end_ns = leaf.end_ns,
                        .on_cpu_ns = std::nullopt};
    if (run != nullptr && (leaf.flags & kLeafBeginInferred) == 0) {
      segment.on_cpu_ns =
          run->OnCpuBefore(state_.time_ns) - run->OnCpuBefore(leaf.begin_ns);
    }
    open.push_back(segment);
  }

  void FindRunState(const ThreadRun* run, ThreadState& thread) const {
    if (rows_.wait) {
      const IntervalRow waits(index_, *rows_.wait);
      if (const auto wait = waits.Covering(state_.time_ns)) {
        thread.state = RunState::kWaiting;
        thread.since_ns = waits.leaf(*wait).begin_ns;
      }
    }
    if (run == nullptr) return;
    if (FindPausedRunState(*run, thread)) return;
    const IntervalRow& dispatches = run->dispatches();
    // The last dispatch that has begun; one of no length is over.
    std::uint64_t begun = dispatches.FirstBeginning(state_.time_ns + 1);
    if (begun == 0) return;
    const IntervalLeaf dispatch = dispatches.leaf(begun - 1);
    thread.cpu = dispatch.key;
    if (state_.time_ns < dispatch.end_ns) {
      thread.state = RunState::kRunning;
      thread.since_ns = dispatch.begin_ns;
      thread.since_inferred = (dispatch.flags & kLeafBeginInferred) != 0;
      return;
    }
    thread.end_state =
        static_cast<std::uint16_t>(dispatch.flags >> kLeafEndStateShift);
    thread.since_inferred = (dispatch.flags & kLeafEndInferred) != 0;
    if (thread.state == RunState::kWaiting) {
      if (logformat::IsThrottled(thread.end_state) &&
          thread.since_ns == dispatch.end_ns) {
        thread.state = RunState::kThrottled;
      }
      return;
    }
    thread.since_ns = dispatch.end_ns;
    thread.state = StateAfter(*run, begun - 1, thread.end_state);
    // The state after the last record is unknown.
    if (thread.state != RunState::kBlocked && thread.since_inferred &&
        thread.end_state == 0) {
      thread.since_ns.reset();
      thread.state = RunState::kUnknown;
    }
  }

  // True of a thread on no CPU, in a trace with pauses. What it was doing in
  // a pause is not known.
  bool FindPausedRunState(const ThreadRun& run, ThreadState& thread) const {
    if (!run.has_pauses() || run.dispatches().Covering(state_.time_ns)) {
      return false;
    }
    const std::uint64_t begun =
        run.dispatches().FirstBeginning(state_.time_ns + 1);
    if (begun == 0) return true;
    const IntervalLeaf last = run.dispatches().leaf(begun - 1);
    thread.cpu = last.key;
    thread.end_state =
        static_cast<std::uint16_t>(last.flags >> kLeafEndStateShift);
    if (thread.state == RunState::kWaiting) return true;
    thread.state = (thread.end_state & logformat::kSwitchDead) != 0
                       ? RunState::kEnded
                       : RunState::kUnknown;
    const auto sleep = run.blocked() == nullptr
                           ? std::nullopt
                           : run.blocked()->Covering(state_.time_ns);
    if (!sleep) return true;
    thread.state = RunState::kBlocked;
    thread.since_ns = run.blocked()->leaf(*sleep).begin_ns;
    return true;
  }

  static RunState StateAfter(const ThreadRun& run, std::uint64_t dispatch,
                             std::uint16_t end_state) {
    if ((end_state & logformat::kSwitchDead) != 0) return RunState::kEnded;
    // The rows' rule: also what a later wake-up shows.
    if (run.IsBlockedAfter(dispatch)) return RunState::kBlocked;
    const std::uint32_t flags = run.dispatches().leaf(dispatch).flags;
    if ((flags & kLeafEndInferred) == 0 && logformat::IsRunnable(end_state)) {
      // For no time at all.
      return logformat::IsThrottled(end_state) ? RunState::kThrottled
                                               : RunState::kWaiting;
    }
    return RunState::kOffCpu;
  }

  void AddSums(const ThreadRun& run, ThreadState& thread) const {
    const IntervalRow& dispatches = run.dispatches();
    thread.on_cpu_ns = run.OnCpuBefore(state_.time_ns);
    if (!thread.wait_ns) thread.wait_ns = 0;
    thread.dispatches = dispatches.FirstBeginning(state_.time_ns + 1);
    thread.counts_incomplete =
        (dispatches.entry().flags & kRowCountsUnknown) != 0;
    for (std::uint32_t event = 0; event < state_.events.size(); ++event) {
      const IntervalRow::Cumulative sum =
          run.CountBefore(state_.time_ns, event);
      // Perhaps the switch of a dispatch that begins at this instant.
      const bool may_lack =
          run.RuleOf(event) == CountRule::kAtBegin &&
          dispatches.SumOfFirst(thread.dispatches, 1 + event) != sum.value;
      thread.counts.push_back({sum.value, sum.estimated || may_lack});
    }
    thread.bounded = index_.IsUnsure(index_.threads()[thread.thread].unsure, 0,
                                     state_.time_ns);
  }

  void FindLosses() {
    for (std::uint32_t i = 0; i < index_.losses().size(); ++i) {
      const LossEntry& loss = index_.losses()[i];
      if (loss.begin_ns <= state_.time_ns && state_.time_ns < loss.end_ns) {
        state_.losses.push_back(i);
      }
    }
  }

  const TimelineIndex& index_;
  const StateOptions options_;
  const InterruptRows interrupts_;
  InstantState state_;
  ThreadRows rows_;
  std::vector<FoundThread> found_;  // those that are wanted
};

}  // namespace

const char* RunStateName(RunState state) {
  switch (state) {
    case RunState::kUnknown:
      return "unknown";
    case RunState::kRunning:
      return "running";
    case RunState::kWaiting:
      return "waiting";
    case RunState::kThrottled:
      return "throttled";
    case RunState::kBlocked:
      return "blocked";
    case RunState::kOffCpu:
      return "off-cpu";
    case RunState::kEnded:
      return "ended";
  }
  return "unknown";
}

InstantState StateAt(const TimelineIndex& index, std::uint64_t time_ns,
                     const StateOptions& options) {
  return StateReader(index, time_ns, options).Read();
}

}  // namespace countrace::viewer
