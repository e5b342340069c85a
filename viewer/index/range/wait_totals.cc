#include "viewer/index/range/wait_totals.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "viewer/index/file/sorted_front.h"
#include "viewer/index/range/wait_split.h"
#include "viewer/index/rows/inferred_switches.h"
#include "viewer/index/rows/thread_run.h"
#include "viewer/index/rows/thread_states.h"

namespace countrace::viewer {
namespace {

using rmap::PreemptorKind;
using rmap::WakerKind;

class Waits {
 public:
  Waits(const TimelineIndex& index, TimeRange range)
      : index_(index), range_(range), interrupts_(index) {
    for (std::uint32_t number = 0; number < index.rows().size(); ++number) {
      const RowEntry& entry = index.rows()[number];
      if (entry.kind == RowKind::kCpu) {
        cpus_.try_emplace(entry.owner, Cpu{.row = number});
      }
    }
  }

  // Rows of one process must follow one another.
  void Add(std::uint32_t process, std::uint32_t number) {
    if (process != process_) numbers_.clear();
    process_ = process;
    thread_ = index_.rows()[number].owner;
    if (index_.rows()[number].kind == RowKind::kThreadRun) {
      AddThread(number);
    } else {
      AddThreadThatNeverRan(number);
    }
  }
  std::vector<WaitRow> Take(std::size_t sorted) {
    // Ties by key, so that answers are deterministic.
    const auto before = [](const WaitRow& a, const WaitRow& b) {
      return a.ns != b.ns ? a.ns > b.ns : KeyOf(a) < KeyOf(b);
    };
    SortFront(rows_, sorted, before);
    return std::move(rows_);
  }

 private:
  void AddThread(std::uint32_t number) {
    const ThreadStates states(index_, number, interrupts_);
    const std::vector<ThreadStretch> stretches = states.Stretches(range_);
    for (auto& [owner, cpu] : cpus_) cpu.place = 0;
    std::uint64_t before = 0;  // the last dispatch
    for (std::size_t i = 0; i < stretches.size(); ++i) {
      const ThreadStretch& stretch = stretches[i];
      if (stretch.leaf != kNoKey) before = stretch.leaf;
      if ((stretch.flags & kStateBlocked) != 0) {
        AddBlocked(stretch,
                   i + 1 < stretches.size() ? &stretches[i + 1] : nullptr);
      } else if ((stretch.flags & kStateWaiting) != 0) {
        AddWaiting(stretch, states.dispatches(), before);
      }
    }
  }

  // It waited and never ran: the CPU that it waited for is not known.
  void AddThreadThatNeverRan(std::uint32_t number) {
    const IntervalRow waits(index_, number);
    for (std::uint64_t i = waits.FirstNotOver(range_.begin_ns);
         i < waits.size() && waits.leaf(i).begin_ns < range_.end_ns; ++i) {
      const TimeRange part =
          Inside({waits.leaf(i).begin_ns, waits.leaf(i).end_ns});
      Add(PreemptorKind::kNotKnown, kNoKey, kNoKey, part,
          part.end_ns - part.begin_ns);
    }
  }

  using By = std::variant<WakerKind, PreemptorKind>;
  using Key = std::tuple<std::uint32_t, By, std::uint32_t, std::uint32_t>;
  // The same in two words, to be found fast.
  using PackedKey = std::pair<std::uint64_t, std::uint64_t>;
  static PackedKey Packed(const Key& key) {
    const auto& [process, by, by_thread, call] = key;
    const std::uint64_t kind = std::visit(
        [](auto one) { return static_cast<std::uint64_t>(one); }, by);
    return {std::uint64_t{process} << 32 | by_thread,
            std::uint64_t{call} << 32 | kind << 1 | by.index()};
  }
  static Key KeyOf(const WaitRow& row) {
    return {row.process, row.by, row.by_thread, row.call};
  }

  TimeRange Inside(TimeRange part) const {
    const std::uint64_t begin_ns = std::max(part.begin_ns, range_.begin_ns);
    return {begin_ns, std::max(begin_ns, std::min(part.end_ns, range_.end_ns))};
  }

  void Add(By by, std::uint32_t by_thread, std::uint32_t call, TimeRange part,
           std::uint64_t ns) {
    if (ns == 0) return;
    Key key{process_, by, by_thread, call};
    if (rows_.size() >= kMaxWaitRows && !numbers_.contains(Packed(key))) {
      by = std::holds_alternative<WakerKind>(by) ? By(WakerKind::kOther)
                                                 : By(PreemptorKind::kOther);
      by_thread = call = kNoKey;
      key = {process_, by, by_thread, call};
    }
    const auto [number, added] =
        numbers_.try_emplace(Packed(key), rows_.size());
    if (added) rows_.emplace_back();
    WaitRow& row = rows_[number->second];
    row.process = process_;
    row.by = by;
    row.by_thread = by_thread;
    row.call = call;
    ++row.times;
    row.ns += ns;
    if (ns <= row.longest_ns) return;
    row.longest_ns = ns;
    row.longest_thread = thread_;
    row.longest_begin_ns = part.begin_ns;
  }

  void AddBlocked(const ThreadStretch& stretch, const ThreadStretch* next) {
    const TimeRange part = Inside(stretch.range);
    WakerKind kind = WakerKind::kNotTold;
    std::uint32_t waker = kNoKey;
    if (stretch.range.end_ns >= range_.end_ns) {
      kind = WakerKind::kStillBlocked;
    } else if (next != nullptr && (next->flags & kStateWaiting) != 0 &&
               next->range.begin_ns == stretch.range.end_ns) {
      const std::uint32_t woken = next->flags >> kWakerShift;
      if (woken != 0 &&
          woken <= 1u + static_cast<unsigned>(WakerKind::kOther)) {
        kind = static_cast<WakerKind>(woken - 1);
      }
      if (kind == WakerKind::kThread) waker = next->key;
    }
    Add(kind, waker, stretch.key, part, part.end_ns - part.begin_ns);
  }

  // `before`: a dispatch of the thread before it.
  void AddWaiting(const ThreadStretch& stretch, const IntervalRow& dispatches,
                  std::uint64_t before) {
    const TimeRange wait = Inside(stretch.range);
    std::uint64_t rest_ns = wait.end_ns - wait.begin_ns;
    if ((stretch.flags & kStateThrottled) != 0) {
      Add(PreemptorKind::kThrottled, kNoKey, kNoKey, wait, rest_ns);
      return;
    }
    // As in the report, a CPU that it gets after the range is not known.
    const std::optional<std::uint32_t> cpu =
        WaitedFor(dispatches, stretch.range, range_.end_ns, before);
    const auto found = cpu ? cpus_.find(*cpu) : cpus_.end();
    if (found != cpus_.end()) {
      Cpu& at = found->second;
      const std::vector<Stay>& stays = StaysOn(*cpu, at);
      at.place = static_cast<std::size_t>(
          std::partition_point(
              stays.begin() + static_cast<std::ptrdiff_t>(at.place),
              stays.end(),
              [&](const Stay& stay) {
                return std::max(stay.range.end_ns, stay.range.begin_ns + 1) <=
                       wait.begin_ns;
              }) -
          stays.begin());
      for (std::size_t i = at.place; i < stays.size(); ++i) {
        const Stay& stay = stays[i];
        if (stay.range.begin_ns >= wait.end_ns) break;
        const TimeRange part{
            std::max(stay.range.begin_ns, wait.begin_ns),
            std::max(stay.range.begin_ns,
                     std::min(stay.range.end_ns, wait.end_ns))};
        if (part.end_ns <= part.begin_ns) continue;
        if (++stays_ > kMaxStays) {
          Add(PreemptorKind::kOther, kNoKey, kNoKey,
              {part.begin_ns, wait.end_ns}, rest_ns);
          return;
        }
        const std::uint64_t ns = std::min(part.end_ns - part.begin_ns, rest_ns);
        const std::uint64_t interrupts_ns =
            std::min(ns, InterruptsIn(*cpu, stay, part));
        rest_ns -= ns;
        Add(stay.by, stay.thread, kNoKey, part, ns - interrupts_ns);
        Add(PreemptorKind::kInterrupts, kNoKey, kNoKey, part, interrupts_ns);
      }
    }
    Add(PreemptorKind::kNotKnown, kNoKey, kNoKey, wait, rest_ns);
  }

  // What had a CPU, as often as threads waited for it: read once.
  struct Stay {
    TimeRange range;
    std::uint64_t interrupts_ns = 0;  // within it
    std::uint64_t interrupt = 0;      // the first of them, or a later one
    std::uint32_t thread = kNoKey;
    PreemptorKind by = PreemptorKind::kThread;
  };
  struct Cpu {
    std::uint32_t row = kNoKey;
    std::optional<std::vector<Stay>> stays = {};  // that touch the range
    // Where the searches of a thread's waits go on: they are in time order.
    std::size_t place = 0;
  };
  const std::vector<Stay>& StaysOn(std::uint32_t number, Cpu& cpu) const {
    if (cpu.stays) return *cpu.stays;
    const IntervalRow row(index_, cpu.row);
    std::vector<Stay>& stays = cpu.stays.emplace();
    std::uint64_t interrupt = 0;
    const std::uint64_t first = row.FirstNotOver(range_.begin_ns);
    const std::uint64_t last = row.FirstBeginning(range_.end_ns, first);
    stays.reserve(last - first);
    const auto add = [&](TimeRange range) -> Stay& {
      Stay& stay = stays.emplace_back(Stay{.range = range});
      stay.interrupts_ns = interrupts_.TimeIn(number, range, interrupt);
      stay.interrupt = interrupt;
      return stay;
    };
    // Interrupts are known, too, where their occupant is not.
    std::uint64_t known_ns = range_.begin_ns;
    const auto add_gap = [&](std::uint64_t end_ns) {
      if (known_ns < end_ns) {
        add({known_ns, end_ns}).by = PreemptorKind::kNotKnown;
      }
    };
    for (std::uint64_t i = first; i < last; ++i) {
      const IntervalLeaf leaf = row.leaf(i);
      add_gap(leaf.begin_ns);
      known_ns = std::max(known_ns, leaf.end_ns);
      Stay& stay = add({leaf.begin_ns, leaf.end_ns});
      if ((leaf.flags & kLeafIdle) != 0) {
        stay.by = PreemptorKind::kIdle;
      } else if ((leaf.flags & kLeafOutside) != 0) {
        stay.by = PreemptorKind::kOutside;
      } else {
        stay.thread = leaf.key;
      }
    }
    add_gap(range_.end_ns);
    return stays;
  }
  std::uint64_t InterruptsIn(std::uint32_t cpu, const Stay& stay,
                             TimeRange part) const {
    if (stay.interrupts_ns == 0 || (part.begin_ns == stay.range.begin_ns &&
                                    part.end_ns == stay.range.end_ns)) {
      return stay.interrupts_ns;
    }
    std::uint64_t hint = stay.interrupt;
    return interrupts_.TimeIn(cpu, part, hint);
  }

  const TimelineIndex& index_;
  const TimeRange range_;
  const InterruptRows interrupts_;
  std::map<std::uint32_t, Cpu> cpus_;
  std::uint32_t thread_ = kNoKey, process_ = kNoKey;
  std::uint64_t stays_ = 0;  // looked at
  std::vector<WaitRow> rows_;
  absl::flat_hash_map<PackedKey, std::size_t> numbers_;  // the process's rows
};

// Exact above kMaxWaitLeaves; below, at least those in the range.
std::uint64_t DispatchesIn(const TimelineIndex& index, TimeRange range) {
  std::uint64_t all = 0, inside = 0;
  for (const RowEntry& entry : index.rows()) {
    if (entry.kind == RowKind::kThreadRun) all += entry.leaves;
  }
  if (all <= kMaxWaitLeaves) return all;
  for (std::uint32_t number = 0; number < index.rows().size(); ++number) {
    if (index.rows()[number].kind != RowKind::kThreadRun) continue;
    const IntervalRow row(index, number);
    const std::uint64_t first = row.FirstBeginning(range.begin_ns);
    inside += row.FirstBeginning(range.end_ns, first) - first;
  }
  return inside;
}

// Rows of dispatches, and of waits of threads that never ran, by process.
std::vector<std::pair<std::uint32_t, std::uint32_t>> RowsByProcess(
    const TimelineIndex& index) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> rows;
  std::uint32_t ran = kNoKey;  // the thread of the last row of dispatches
  for (std::uint32_t number = 0; number < index.rows().size(); ++number) {
    const RowEntry& entry = index.rows()[number];
    if (entry.kind == RowKind::kThreadRun) {
      ran = entry.owner;
    } else if (entry.kind != RowKind::kThreadWait || entry.owner == ran) {
      continue;
    }
    rows.emplace_back(index.ProcessOf(entry.owner), number);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace

namespace {

void SetBounded(const TimelineIndex& index, TimeRange range,
                std::vector<WaitRow>& rows) {
  // Where nothing is missing, all is known.
  if (index.losses().empty() && index.HasAll(range.begin_ns, range.end_ns)) {
    return;
  }
  std::set<std::uint32_t> unsure;  // processes
  for (const WaitRow& row : rows) {
    if (row.process >= index.processes().size() ||
        index.processes()[row.process].unsure != 0 ||
        row.by == decltype(row.by)(PreemptorKind::kNotKnown)) {
      unsure.insert(row.process);
    }
  }
  for (WaitRow& row : rows) {
    if (unsure.contains(row.process)) {
      row.qualities.Add(rmap::Quality::kBounded);
    }
  }
}

// Computed switches in the range: of a thread of the process, or of the one
// that the row names.
void SetInferred(const TimelineIndex& index, TimeRange range,
                 std::vector<WaitRow>& rows) {
  std::set<std::uint32_t> threads, processes;
  std::uint32_t last = kNoKey;  // they are sorted by thread
  for (const InferredStep& step : index.inferred_switches()) {
    if (step.thread == std::exchange(last, step.thread) ||
        !InferredSwitchesIn(index, step.thread, range).switched) {
      continue;
    }
    threads.insert(step.thread);
    processes.insert(index.ProcessOf(step.thread));
  }
  for (WaitRow& row : rows) {
    if (processes.contains(row.process) || threads.contains(row.by_thread)) {
      row.qualities.Add(rmap::Quality::kInferred);
    }
  }
}

}  // namespace

absl::StatusOr<std::vector<WaitRow>> WaitsIn(const TimelineIndex& index,
                                             TimeRange range,
                                             std::size_t sorted) {
  range.end_ns = std::min(range.end_ns, index.duration_ns());
  range.begin_ns = std::min(range.begin_ns, range.end_ns);
  const std::uint64_t leaves = DispatchesIn(index, range);
  if (leaves > kMaxWaitLeaves) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "The range has too many dispatches to say why threads wait; select a "
        "part of it: dispatches=%d, most=%d",
        leaves, kMaxWaitLeaves));
  }
  Waits waits(index, range);
  if (range.begin_ns == range.end_ns) return waits.Take(sorted);
  for (const auto& [process, number] : RowsByProcess(index)) {
    waits.Add(process, number);
  }
  std::vector<WaitRow> rows = waits.Take(sorted);
  SetBounded(index, range, rows);
  SetInferred(index, range, rows);
  return rows;
}

}  // namespace countrace::viewer
