#include "viewer/index/instant_state.h"

#include <unordered_map>

#include "viewer/index/counter_row.h"
#include "viewer/index/interval_row.h"
#include "viewer/index/point_row.h"

namespace countrace::viewer {
namespace {

CpuState StateOfCpu(const IntervalRow& row, std::uint64_t time_ns) {
  CpuState state;
  state.cpu = row.entry().owner;
  const std::optional<std::uint64_t> number = row.Covering(time_ns);
  if (!number) return state;
  const IntervalLeaf& leaf = row.leaf(*number);
  state.known = true;
  state.flags = leaf.flags;
  if ((leaf.flags & (kLeafIdle | kLeafOutside)) == 0) state.thread = leaf.key;
  state.begin_ns = leaf.begin_ns;
  state.end_ns = leaf.end_ns;
  return state;
}

// Keeps the nearer of two steps.
class Nearest {
 public:
  Nearest(std::uint64_t time_ns, bool forward)
      : time_ns_(time_ns), forward_(forward) {}
  void Offer(const Step& step) {
    if (forward_ ? step.time_ns <= time_ns_ : step.time_ns >= time_ns_) return;
    if (!best_ || (forward_ ? step.time_ns < best_->time_ns
                            : step.time_ns > best_->time_ns)) {
      best_ = step;
    }
  }
  const std::optional<Step>& best() const { return best_; }

 private:
  std::uint64_t time_ns_;
  bool forward_;
  std::optional<Step> best_;
};

void OfferIntervals(const IntervalRow& row, std::uint32_t row_number,
                    std::uint64_t time_ns, bool forward, Nearest& nearest) {
  if (row.size() == 0) return;
  // Leaves do not overlap, so the nearest begin and end are in the leaves
  // around `time_ns`; leaves of no length may share it, hence the walk.
  std::uint64_t number = row.FirstBeginning(forward ? time_ns + 1 : time_ns);
  const auto offer = [&](std::uint64_t at) {
    const IntervalLeaf& leaf = row.leaf(at);
    nearest.Offer({leaf.begin_ns, row_number, at, false});
    nearest.Offer({leaf.end_ns, row_number, at, true});
  };
  if (number < row.size()) offer(number);
  for (int back = 0; back < 2 && number > 0; ++back) offer(--number);
}

void OfferPoints(const PointRow& row, std::uint32_t row_number,
                 std::uint64_t time_ns, bool forward, Nearest& nearest) {
  const std::uint64_t at = row.FirstAt(forward ? time_ns + 1 : time_ns);
  if (forward ? at >= row.points().size() : at == 0) return;
  const std::uint64_t number = forward ? at : at - 1;
  nearest.Offer({row.points()[number].time_ns, row_number, number, false});
}

}  // namespace

InstantState StateAt(const TimelineIndex& index, std::uint64_t time_ns) {
  InstantState state;
  state.time_ns = time_ns;
  state.events.resize(index.header().events);
  std::unordered_map<std::uint32_t, std::uint32_t> running;
  for (std::uint32_t number = 0; number < index.rows().size(); ++number) {
    const RowEntry& entry = index.rows()[number];
    switch (entry.kind) {
      case RowKind::kQuality:
        state.in_loss =
            IntervalRow(index, number).Covering(time_ns).has_value();
        break;
      case RowKind::kCpu: {
        const CpuState cpu = StateOfCpu(IntervalRow(index, number), time_ns);
        if (cpu.thread != kNoKey) running[cpu.thread] = cpu.cpu;
        state.cpus.push_back(cpu);
        break;
      }
      case RowKind::kSegment: {
        const IntervalRow row(index, number);
        const std::optional<std::uint64_t> open = row.Covering(time_ns);
        if (!open) break;
        if (state.threads.empty() ||
            state.threads.back().thread != entry.owner) {
          if (state.threads.size() >= kMaxStateThreads) {
            ++state.threads_left_out;
            break;
          }
          ThreadState thread;
          thread.thread = entry.owner;
          if (const auto cpu = running.find(entry.owner);
              cpu != running.end()) {
            thread.cpu = cpu->second;
          }
          state.threads.push_back(std::move(thread));
        }
        const IntervalLeaf& leaf = row.leaf(*open);
        state.threads.back().open.push_back({.row = number,
                                             .hook_id = leaf.key,
                                             .depth = entry.depth,
                                             .flags = leaf.flags,
                                             .begin_ns = leaf.begin_ns,
                                             .end_ns = leaf.end_ns});
        break;
      }
      case RowKind::kCounter: {
        const CounterRow row(index, number);
        for (std::uint32_t event = 0; event < state.events.size(); ++event) {
          const CounterRow::Value value = row.Before(time_ns, event);
          EventState& sum = state.events[event];
          sum.count += value.count;
          sum.estimated |= value.estimated;
          sum.gap |= value.gap;
          sum.by_cpu.push_back(value.count);
        }
        break;
      }
      case RowKind::kThreadRun:
      case RowKind::kHook:
      case RowKind::kIdleRun:
      case RowKind::kOutsideRun:
        break;
    }
  }
  return state;
}

std::optional<Step> NearestStep(const TimelineIndex& index,
                                std::uint64_t time_ns, bool forward,
                                std::uint32_t kinds,
                                std::optional<std::uint32_t> only_row) {
  Nearest nearest(time_ns, forward);
  const auto offer = [&](std::uint32_t number) {
    switch (index.rows()[number].kind) {
      case RowKind::kCpu:
      case RowKind::kThreadRun:
        // A thread's stays are the CPUs' stays again: only if asked for.
        if (((kinds & kStepDispatch) != 0 &&
             index.rows()[number].kind == RowKind::kCpu) ||
            only_row) {
          OfferIntervals(IntervalRow(index, number), number, time_ns, forward,
                         nearest);
        }
        break;
      case RowKind::kSegment:
        if ((kinds & kStepSegment) != 0) {
          OfferIntervals(IntervalRow(index, number), number, time_ns, forward,
                         nearest);
        }
        break;
      case RowKind::kHook:
        if ((kinds & kStepHook) != 0) {
          OfferPoints(PointRow(index, number), number, time_ns, forward,
                      nearest);
        }
        break;
      default:
        break;
    }
  };
  if (only_row) {
    if (*only_row < index.rows().size()) offer(*only_row);
  } else {
    for (std::uint32_t number = 0; number < index.rows().size(); ++number) {
      offer(number);
    }
  }
  return nearest.best();
}

}  // namespace countrace::viewer
