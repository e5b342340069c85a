// More than 400 lines: adding a count to an account is inlined into all rules
// by which an interval's count is shared out.
#include "rmap/dispatch/interval_counts.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "logformat/perf_event_names.h"

namespace countrace::rmap {
namespace {

TurnCounts& RowInTurn(std::vector<TurnCounts>& in_turn, ThreadState* thread,
                      CpuAccount* account) {
  // Search the latest row first: most often it is the one.
  const auto at = std::find_if(
      in_turn.rbegin(), in_turn.rend(), [&](const TurnCounts& row) {
        return row.thread == thread && row.account == account;
      });
  if (at != in_turn.rend()) return *at;
  return in_turn.emplace_back(TurnCounts{.thread = thread, .account = account});
}

void AddToTurn(CpuCounters& counters, ThreadState* thread, CpuAccount* account,
               std::size_t event, std::uint64_t count) {
  TurnCounts& row = RowInTurn(counters.in_turn, thread, account);
  if (event != counters.running) {
    row.counts[event - counters.first_event] += count;
    return;
  }
  row.running_ns += count;
  counters.unsplit.ForEach([&](std::size_t unsplit) {
    row.unsplit_ns[unsplit - counters.first_event] += count;
  });
}

// Cold: reports have no observer.
[[gnu::noinline, gnu::cold]] void Tell(CpuState& cpu,
                                       const AttributedInterval& interval,
                                       std::size_t event, std::uint64_t count) {
  if (count == 0) return;
  const AttributedCount attributed{
      cpu.cpu,
      cpu.AccountOf(interval.account),
      interval.thread == nullptr ? kNoThread : interval.thread->index,
      interval.begin_ns,
      interval.end_ns,
      static_cast<std::uint32_t>(event),
      count};
  if (cpu.unconfirmed.any) {
    cpu.unconfirmed.held.emplace_back(
        HeldCount{attributed, std::min(count, interval.faults)});
  } else {
    cpu.observer->OnCounts(attributed);
  }
}

// The same: threads may have `count`.
[[gnu::noinline, gnu::cold]] void ReportUnseen(const CpuState& cpu,
                                               std::uint64_t begin_ns,
                                               std::uint64_t end_ns,
                                               std::size_t event,
                                               std::uint64_t count) {
  if (cpu.observer == nullptr || count == 0) return;
  cpu.observer->OnUnseen(
      {begin_ns, end_ns, static_cast<std::uint32_t>(event), count});
}

void Book(CpuState& cpu, const AttributedInterval& interval, std::size_t event,
          std::uint64_t count) {
  interval.account->counts[event] += count;
  if (interval.account == &cpu.unattributed && count != 0) [[unlikely]] {
    cpu.counters.unknown[event] += count;
    cpu.counters.any_unknown = true;
  }
  if (interval.thread != nullptr)
    interval.thread->kernel.counts[event] += count;
  if (cpu.unconfirmed.any) [[unlikely]]
    NoteUnconfirmedCount(cpu, interval, event, count);
  if (cpu.observer != nullptr) [[unlikely]]
    Tell(cpu, interval, event, count);
}

void Add(CpuState& cpu, const AttributedInterval& interval, std::size_t event,
         std::uint64_t count) {
  Book(cpu, interval, event, count);
  if (count == 0 || !cpu.counters.turn.Has(event)) return;
  AddToTurn(cpu.counters, nullptr, interval.account, event, count);
  if (interval.thread != nullptr && interval.thread != &cpu.interrupt_work) {
    AddToTurn(cpu.counters, interval.thread, nullptr, event, count);
  }
}

// Counted between `begin_ns` and `end_ns`, owner unknown. In no slice: the time
// has owners, whose estimates stand for these counts.
void AddUnattributed(CpuState& cpu, std::size_t event, std::uint64_t count,
                     std::uint64_t begin_ns, std::uint64_t end_ns) {
  AttributedInterval rest;
  rest.account = &cpu.unattributed;
  rest.begin_ns = begin_ns;
  rest.end_ns = end_ns;
  Book(cpu, rest, event, count);
}

// True if only `last` can have caused a fault: the others were idle,
// interrupts, other parts of the same dispatch, or outside like `last`.
bool OnlyLastFaults(const CpuState& cpu, const AttributedInterval& last) {
  return !last.idle &&
         std::all_of(
             cpu.counters.uncounted.begin(), cpu.counters.uncounted.end(),
             [&](const AttributedInterval& interval) {
               return interval.idle || interval.account == &cpu.interrupts ||
                      (interval.account == &cpu.outside &&
                       last.account == &cpu.outside) ||
                      (interval.thread != nullptr &&
                       interval.thread == last.thread);
             });
}

// Where `last` is idle: the latest part of the only owner that can have page
// faults; null: there is none, or several, or one is unknown.
const AttributedInterval* OnlyPartThatFaults(const CpuState& cpu,
                                             const AttributedInterval& last) {
  if (!last.idle) return nullptr;
  const AttributedInterval* only = nullptr;
  for (const AttributedInterval& part : cpu.counters.uncounted) {
    if (part.idle || part.account == &cpu.interrupts) continue;
    if (part.account == &cpu.unattributed) return nullptr;
    if (only != nullptr &&
        (only->thread != part.thread || only->account != part.account)) {
      return nullptr;
    }
    only = &part;
  }
  return only;
}

// True if more faults are recorded than an event of one mode (page-faults:u)
// counts, of more than one thread: which ones it counted is not recorded.
bool IsAmbiguous(const CpuState& cpu, const AttributedInterval& last,
                 std::uint64_t count) {
  std::uint64_t recorded = 0;
  const ThreadState* owner = nullptr;
  bool several = false;
  const auto add = [&](const ThreadState* thread, std::uint64_t faults) {
    if (faults == 0) return;
    several |= recorded != 0 && owner != thread;
    recorded += faults;
    owner = thread;
  };
  add(last.thread, last.faults);
  for (const StrayFaults& stray : cpu.counters.strays)
    add(stray.thread, stray.faults);
  for (const AttributedInterval& part : cpu.counters.uncounted)
    add(part.thread, part.faults);
  return several && recorded > count;
}

// True for an earlier part, cut by an interrupt, of the current dispatch.
bool IsPartOfDispatch(const CpuState& cpu, const AttributedInterval& part) {
  return !part.switched && !part.ended && part.account != &cpu.interrupts;
}

// The calls open in these intervals lack a part of their counts.
void DoubtCalls(const CpuState& cpu, const AttributedInterval& last,
                const MeasureSet& events) {
  const auto doubt = [&events](const AttributedInterval& interval) {
    if (interval.thread == nullptr) return;
    interval.thread->stack.Doubt(/*thread=*/0, /*kernel=*/events);
  };
  doubt(last);
  for (const AttributedInterval& interval : cpu.counters.uncounted)
    doubt(interval);
}

// Any of the threads in these intervals may have it; if one interval has no
// known occupant, any thread.
void LeaveUnattributed(CpuState& cpu, std::size_t event, std::uint64_t count,
                       const AttributedInterval& last) {
  const bool left_out = cpu.counters.unsplit.Has(event);
  if (count != 0 || left_out) DoubtCalls(cpu, last, MeasureSet::Of(event));
  if (count == 0) return;
  AddUnattributed(cpu, event, count, BeginOf(cpu, last), last.end_ns);
  const std::vector<AttributedInterval>& parts = cpu.counters.uncounted;
  bool unknown = last.account == &cpu.unattributed;
  const auto add = [&](ThreadState* thread) {
    // Its estimate does without this interval.
    if (thread == nullptr || left_out) return;
    thread->unseen.AddCount(event, count);
  };
  add(last.thread);
  for (const StrayFaults& stray : cpu.counters.strays) {
    if (stray.thread != last.thread) add(stray.thread);
  }
  for (auto part = parts.begin(); part != parts.end(); ++part) {
    unknown |= part->account == &cpu.unattributed;
    const auto same = [&](const AttributedInterval& other) {
      return other.thread == part->thread;
    };
    if (!same(last) && std::none_of(parts.begin(), part, same)) {
      add(part->thread);
    }
  }
  if (unknown) return;  // TakeUnknown() adds it for all threads
  cpu.counters.unknown[event] -= count;
  ReportUnseen(cpu, BeginOf(cpu, last), last.end_ns, event, count);
}

// The same, also if nothing was counted: an interval is left out of the
// estimates for its threads, not for its count.
void LeaveUnsplit(CpuState& cpu, std::size_t event, std::uint64_t count,
                  const AttributedInterval& last) {
  if (cpu.counters.turn.Has(event)) cpu.counters.unsplit.Add(event);
  LeaveUnattributed(cpu, event, count, last);
}

// Counts of the dispatches since the last dump become lower bounds.
[[gnu::noinline, gnu::cold]] void Doubt(CpuState& cpu,
                                        const MeasureSet& went_back,
                                        const AttributedInterval& last) {
  const MeasureSet events = std::exchange(cpu.counters.doubted, {}) | went_back;
  const auto doubt = [&](const AttributedInterval& interval) {
    if (interval.thread == nullptr) return;
    (events - cpu.counters.unsplit).ForEach([&](std::size_t i) {
      interval.thread->unseen.AddCount(i, Bounds::kNone);
    });
  };
  doubt(last);
  for (const AttributedInterval& interval : cpu.counters.uncounted)
    doubt(interval);
  DoubtCalls(cpu, last, events);
}

// Moves the deltas so far to `closed`. Returns these counters.
MeasureSet Close(CpuCounters& counters, std::size_t events) {
  for (std::size_t i = 0; i < events; ++i) {
    counters.closed[i] += counters.last[i] - counters.first[i];
    counters.first[i] = counters.last[i] = 0;
  }
  const MeasureSet counted = std::exchange(counters.counted, {});
  counters.counted_before |= counted;
  return counted;
}

bool HasUnknownPart(const CpuState& cpu) {
  return std::any_of(
      cpu.counters.uncounted.begin(), cpu.counters.uncounted.end(),
      [&](const auto& part) { return part.account == &cpu.unattributed; });
}

// Each dispatch begins with a switch, which is counted just after its dump, but
// not the one that was there at a first dump or a tick. Other switches are
// those of threads that the kernel does not show.
std::uint64_t ShareSwitches(CpuState& cpu, std::size_t event,
                            std::uint64_t count,
                            const AttributedInterval& last) {
  std::vector<AttributedInterval>& parts = cpu.counters.uncounted;
  const auto switched = static_cast<std::uint64_t>(
      std::count_if(parts.begin(), parts.end(),
                    [](const auto& part) { return part.switched; }));
  if (switched != 0) {
    bool counted = cpu.counters.at_switch;
    const std::uint64_t begun = switched + (counted ? 1 : 0);
    if (count < begun) {
      LeaveUnattributed(cpu, event, count, last);
      return 0;
    }
    LeaveUnattributed(cpu, event, count - begun, last);
    for (const AttributedInterval& part : parts) {
      if (!part.switched) continue;
      if (counted) Add(cpu, part, event, 1);
      counted = true;
    }
    count = 1;
  }
  if (last.account != &cpu.interrupts) return count;
  // An interrupt is no switch: the dispatch that it cut began with one.
  for (const AttributedInterval& part : parts) {
    if (!IsPartOfDispatch(cpu, part)) continue;
    Add(cpu, part, event, count);
    cpu.counters.of_dispatch[event] += count;
    return 0;
  }
  if (HasUnknownPart(cpu)) {
    LeaveUnattributed(cpu, event, count, last);
    return 0;
  }
  return count;
}

// Threads alone have run time: each but the last at most its time. Returns the
// share of `last`.
std::uint64_t ShareRunTime(CpuState& cpu, std::size_t event,
                           std::uint64_t count,
                           const AttributedInterval& last) {
  std::vector<AttributedInterval>& parts = cpu.counters.uncounted;
  // A thread may have run for less than its time, and an unknown one for the
  // rest.
  if (last.account == &cpu.unattributed || HasUnknownPart(cpu)) {
    LeaveUnattributed(cpu, event, count, last);
    return 0;
  }
  const auto runs = [&](const AttributedInterval& part) {
    return !part.idle && part.account != &cpu.interrupts;
  };
  auto end = parts.end();  // of the parts that get no more than their time
  if (!runs(last)) {
    const auto final = std::find_if(parts.rbegin(), parts.rend(), runs);
    if (final == parts.rend()) {
      LeaveUnattributed(cpu, event, count, last);
      return 0;
    }
    end = final.base() - 1;
  }
  const auto add = [&](const AttributedInterval& part, std::uint64_t share) {
    Add(cpu, part, event, share);
    if (IsPartOfDispatch(cpu, part)) cpu.counters.of_dispatch[event] += share;
    count -= share;
  };
  for (auto part = parts.begin(); part != end; ++part) {
    if (runs(*part)) add(*part, std::min(count, part->ns));
  }
  if (end == parts.end()) return count;
  add(*end, count);
  return 0;
}

// Faults belong to the threads of their records, not to the occupant. Returns
// how many of `count` that are, so that they are attributed.
[[gnu::noinline, gnu::cold]] std::uint64_t TakeStrays(
    CpuState& cpu, CounterKind kind, std::size_t event, std::uint64_t count,
    const AttributedInterval& last) {
  if (!IsFaults(kind)) return 0;
  std::uint64_t taken = 0;
  for (const StrayFaults& stray : cpu.counters.strays) {
    AttributedInterval own;
    own.account = stray.thread != nullptr ? &cpu.busy : &cpu.outside;
    own.thread = stray.thread;
    own.begin_ns = BeginOf(cpu, last);
    own.end_ns = last.end_ns;
    // Only a count of one part is less than its records.
    const std::uint64_t share = std::min(count - taken, stray.faults);
    own.faults = share;
    Add(cpu, own, event, share);
    taken += share;
  }
  return taken;
}

// Returns the share of `count` that `last` keeps; adds the rest to others.
std::uint64_t Share(CpuState& cpu, CounterKind kind, std::size_t event,
                    std::uint64_t count, const AttributedInterval& last) {
  switch (kind) {
    case CounterKind::kClock: {
      std::uint64_t rest = count;
      for (const AttributedInterval& interval : cpu.counters.uncounted) {
        const std::uint64_t share = std::min(rest, interval.ns);
        Add(cpu, interval, event, share);
        if (IsPartOfDispatch(cpu, interval))
          cpu.counters.of_dispatch[event] += share;
        rest -= share;
      }
      return rest;
    }
    case CounterKind::kSwitches:
      return ShareSwitches(cpu, event, count, last);
    case CounterKind::kRunTime:
      return ShareRunTime(cpu, event, count, last);
    case CounterKind::kFaults:
    case CounterKind::kFaultsOfMode: {
      // Every fault has a record, except those of hidden threads.
      if (OnlyLastFaults(cpu, last)) return count;
      const std::uint64_t own = std::min(count, last.faults);
      std::uint64_t rest = count - own;
      for (const AttributedInterval& interval : cpu.counters.uncounted) {
        const std::uint64_t share = std::min(rest, interval.faults);
        Add(cpu, interval, event, share);
        if (IsPartOfDispatch(cpu, interval))
          cpu.counters.of_dispatch[event] += share;
        rest -= share;
      }
      LeaveUnattributed(cpu, event, rest, last);
      return own;
    }
    case CounterKind::kBusy:
      if (OnlyLastFaults(cpu, last)) return count;
      if (const AttributedInterval* part = OnlyPartThatFaults(cpu, last)) {
        Add(cpu, *part, event, count);
        if (IsPartOfDispatch(cpu, *part)) {
          cpu.counters.of_dispatch[event] += count;
        }
        return 0;
      }
      break;
    case CounterKind::kOther:
      break;
  }
  LeaveUnsplit(cpu, event, count, last);
  return 0;
}

// The bits of up to 64 measures in the sets of a CPU.
struct MeasureWords {
  std::uint64_t &counted, &stale, &turn, &unsplit;
  std::uint64_t rotates;
};

// The counters from `first` on with a bit in `absent` are not in a dump.
[[gnu::noinline, gnu::cold]] void NoteAbsent(CpuState& cpu, std::size_t first,
                                             std::uint64_t absent,
                                             std::uint64_t begin_ns) {
  for (; absent != 0; absent &= absent - 1) {
    const auto i = first + static_cast<std::size_t>(std::countr_zero(absent));
    if (cpu.counters.stale.Has(i)) continue;
    cpu.counters.stale_since_ns[i] = begin_ns;
    cpu.counters.stale.Add(i);
  }
}

// Attributes the count of event `i`, which is in `record` and has `bit` in
// `words`. True: the counter went back.
bool AttributeCount(CpuState& cpu, const logformat::EventRecord& record,
                    CounterKind kind, const AttributedInterval& last,
                    std::size_t i, std::uint64_t bit,
                    const MeasureWords& words) {
  CpuCounters& counters = cpu.counters;
  const std::uint64_t value = record.counters[i];
  if ((words.rotates & bit & ~words.turn) != 0) {
    // First dump in this rotation: no delta covers the other sets' rotations.
    words.turn |= bit;
    words.counted |= bit;
    counters.first[i] = counters.last[i] = value;
    return false;
  }
  bool went_back = false;
  std::uint64_t delta = 0;
  if ((words.counted & bit) == 0) {
    const bool run_time = kind == CounterKind::kRunTime;
    if (run_time && counters.dispatch_cut && !IsSwitch(record)) return false;
    words.counted |= bit;
    words.stale &= ~bit;
    counters.first[i] = counters.last[i] = value;
    if (!(run_time ? counters.dispatch_cut : counters.cut)) return false;
    delta = CountSinceCut(cpu, kind, i, value, last);
    counters.first[i] -= delta;
  } else if (value >= counters.last[i]) {
    delta = value - counters.last[i];
  } else {
    // Keeps the CPU's total equal to the sum of its deltas.
    counters.first[i] -= counters.last[i] - value;
    counters.went_back_from[i] = counters.last[i];
    went_back = true;
    words.unsplit |= words.turn & bit;
  }
  counters.last[i] = value;
  if ((words.stale & bit) != 0) {
    words.stale &= ~bit;
    AddUnattributed(cpu, i, delta, counters.stale_since_ns[i], last.end_ns);
    ReportUnseen(cpu, counters.stale_since_ns[i], last.end_ns, i, delta);
    return went_back;
  }
  if (IsFaults(kind) && IsAmbiguous(cpu, last, delta)) {
    LeaveUnsplit(cpu, i, delta, last);
    return went_back;
  }
  if (!counters.strays.empty()) [[unlikely]]
    delta -= TakeStrays(cpu, kind, i, delta, last);
  if (!counters.uncounted.empty()) delta = Share(cpu, kind, i, delta, last);
  Add(cpu, last, i, delta);
  if (last.account != &cpu.interrupts) counters.of_dispatch[i] += delta;
  return went_back;
}

}  // namespace

std::vector<CounterKind> CounterKinds(const std::vector<std::string>& events,
                                      std::size_t sets) {
  std::vector<CounterKind> kinds;
  for (const std::string& event : events) {
    const std::string name = event.substr(0, event.find(':'));
    CounterKind kind = CounterKind::kOther;
    if (name == "task-clock" || name == "cpu-clock") {
      kind = CounterKind::kClock;
    } else if (name == logformat::kExecRuntimeEvent) {
      kind = CounterKind::kRunTime;
    } else if (name == "context-switches") {
      kind = CounterKind::kSwitches;
    } else if (name == "page-faults") {
      kind = name == event ? CounterKind::kFaults : CounterKind::kFaultsOfMode;
    } else if (name == "minor-faults" || name == "major-faults") {
      kind = CounterKind::kBusy;
    }
    kinds.push_back(kind);
  }
  kinds.insert(kinds.end(), sets, CounterKind::kClock);
  return kinds;
}

void BeginCounts(CpuState& cpu, const MeasuredDump& dump, std::size_t events,
                 const MeasureSet& rotating) {
  CpuCounters& counters = cpu.counters;
  for (std::size_t i = 0; i < events; ++i) {
    if (!dump.Has(i)) continue;
    counters.first[i] = counters.last[i] = dump.record.counters[i];
    counters.counted.Add(i);
    if (rotating.Has(i)) counters.turn.Add(i);
  }
  counters.mmcr = dump.record.mmcr;
  counters.at_switch = IsSwitch(dump.record);
}

void EndCounts(CpuState& cpu, std::size_t events) {
  CpuCounters& counters = cpu.counters;
  Close(counters, events);
  counters.uncounted.clear();
  counters.strays.clear();
  counters.stale = counters.doubted = MeasureSet();
  counters.cut = counters.dispatch_cut = false;
}

MeasureSet ChangeCounts(CpuState& cpu, std::uint32_t mmcr, std::size_t events) {
  CpuCounters& counters = cpu.counters;
  counters.mmcr = mmcr;
  const MeasureSet counted = Close(counters, events);
  // As at the first dump: no delta covers the time before.
  counters.doubted |= counted;
  counters.stale = MeasureSet();
  counters.before_present = MeasureSet();
  return counted;
}

void DoubtCounts(CpuState& cpu, const MeasureSet& counters) {
  cpu.counters.doubted |= counters;
}

void BeginDispatchCounts(CpuState& cpu, std::size_t events) {
  std::fill_n(cpu.counters.of_dispatch.begin(), events, 0);
}

void AddUncounted(CpuState& cpu, const AttributedInterval& attributed) {
  if (!attributed.switched) {
    for (AttributedInterval& part : cpu.counters.uncounted) {
      if (part.unconfirmed != attributed.unconfirmed ||
          !part.GoesOnWith(attributed))
        continue;
      part.Add(attributed);
      return;
    }
  }
  cpu.counters.uncounted.push_back(attributed);
}

void AddStrayFaults(CpuState& cpu, ThreadState* thread, std::uint64_t faults) {
  if (faults == 0) return;
  std::vector<StrayFaults>& strays = cpu.counters.strays;
  const auto same = std::find_if(
      strays.begin(), strays.end(),
      [=](const StrayFaults& stray) { return stray.thread == thread; });
  if (same != strays.end()) {
    same->faults += faults;
  } else {
    strays.push_back({thread, faults});
  }
}

void EndParts(CpuState& cpu) {
  for (AttributedInterval& part : cpu.counters.uncounted) {
    // These parts belong to a dispatch that ends; its switch is counted with
    // its last part, or at its end.
    if (!part.switched && part.account != &cpu.interrupts) part.ended = true;
  }
}

bool AttributeCounts(CpuState& cpu, const MeasuredDump& dump,
                     std::span<const CounterKind> kinds,
                     const AttributedInterval& last, const MeasureSet& rotating,
                     MeasureSet& went_back) {
  CpuCounters& counters = cpu.counters;
  bool any_went_back = false;
  // One dispatch fills the interval.
  const bool alone = counters.strays.empty() && counters.uncounted.empty();
  const bool of_dispatch = last.account != &cpu.interrupts;
  const std::size_t events = std::min(kinds.size(), kMaxMeasures);
  // Word by word: in a trace of many sets the events of the others cost
  // nothing.
  for (std::size_t first = 0; first < events; first += MeasureSet::kWordBits) {
    const std::size_t word = first / MeasureSet::kWordBits;
    const MeasureWords words = {
        counters.counted.word(word), counters.stale.word(word),
        counters.turn.word(word), counters.unsplit.word(word),
        rotating.word(word)};
    const std::size_t in_word = std::min(events - first, MeasureSet::kWordBits);
    const std::uint64_t all =
        ~std::uint64_t{0} >> (MeasureSet::kWordBits - in_word);
    const std::uint64_t present = dump.word(word) & all;
    if (const std::uint64_t absent = all & ~present & ~words.rotates;
        absent != 0) [[unlikely]] {
      NoteAbsent(cpu, first, absent, BeginOf(cpu, last));
    }
    // Counted before, in this rotation, up to the last dump.
    const std::uint64_t usual =
        words.counted & ~words.stale & ~(words.rotates & ~words.turn);
    for (std::uint64_t left = present; left != 0; left &= left - 1) {
      const std::uint64_t bit = left & (~left + 1);
      const auto i = first + static_cast<std::size_t>(std::countr_zero(left));
      const std::uint64_t value = dump.record.counters[i];
      if (alone && (usual & bit) != 0 && value >= counters.last[i]) [[likely]] {
        const std::uint64_t delta = value - counters.last[i];
        counters.last[i] = value;
        Add(cpu, last, i, delta);
        if (of_dispatch) counters.of_dispatch[i] += delta;
      } else if (AttributeCount(cpu, dump.record, kinds[i], last, i, bit,
                                words)) {
        went_back.Add(i);
        any_went_back = true;
      }
    }
  }
  if (any_went_back || !counters.doubted.empty()) [[unlikely]]
    Doubt(cpu, went_back, last);
  counters.uncounted.clear();
  counters.strays.clear();
  counters.cut = false;
  counters.unsplit = MeasureSet();
  counters.at_switch = IsSwitch(dump.record);
  if (counters.at_switch) counters.dispatch_cut = false;
  return any_went_back;
}

}  // namespace countrace::rmap
