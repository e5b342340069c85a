// Intervals of a CPU that only interrupts end, whose records name no thread:
// the next record that does confirms the occupant, or shows that a switch is
// missing. Then what the occupant got since it was last named has no known
// owner.
#include <algorithm>
#include <utility>

#include "rmap/dispatch/dispatch_tracker.h"

namespace countrace::rmap {
namespace {

// What an observer is not yet given; then the occupant counts as confirmed.
constexpr std::size_t kMaxHeld = 1 << 20;

TurnCounts* FindInTurn(CpuCounters& counters, const ThreadState* thread,
                       const CpuAccount* account) {
  for (TurnCounts& row : counters.in_turn) {
    if (row.thread == thread && row.account == account) return &row;
  }
  return nullptr;
}

void TakeBackInTurn(TurnCounts* row, const CpuCounters& counters,
                    const UnconfirmedTime& from, std::size_t event,
                    std::uint64_t count) {
  if (row == nullptr) return;
  if (event != counters.running) {
    row->counts[event - counters.first_event] -= count;
    return;
  }
  row->running_ns -= count;
  for (std::size_t i = 0; i < from.unsplit_ns.size(); ++i) {
    row->unsplit_ns[i] -= from.unsplit_ns[i];
  }
}

void ConfirmParts(std::vector<AttributedInterval>& parts) {
  // All that are not confirmed are one entry.
  const auto part =
      std::find_if(parts.begin(), parts.end(),
                   [](const auto& each) { return each.unconfirmed; });
  if (part == parts.end()) return;
  part->unconfirmed = false;
  const auto earlier = std::find_if(parts.begin(), part, [&](const auto& each) {
    return each.GoesOnWith(*part);
  });
  if (earlier == part) return;
  earlier->Add(*part);
  parts.erase(part);
}

void TakeBackParts(CpuState& cpu) {
  for (AttributedInterval& part : cpu.counters.uncounted) {
    if (!std::exchange(part.unconfirmed, false)) continue;
    // Each has a record that names its thread.
    AddStrayFaults(cpu, part.thread, std::exchange(part.faults, 0));
    part.account = &cpu.unattributed;
    part.thread = nullptr;
    part.idle = false;
    part.ended = true;
  }
}

// The observer gets what was held back; `unattributed`: what is of the occupant
// as such.
void Release(CpuState& cpu, bool unattributed,
             const MeasureSet& recorded_events) {
  UnconfirmedTime& from = cpu.unconfirmed;
  TimelineObserver& observer = *cpu.observer;
  const Account account = cpu.AccountOf(from.account);
  for (const auto& each : from.held) {
    if (const auto* const time = std::get_if<AttributedTime>(&each)) {
      AttributedTime attributed = *time;
      if (unattributed && attributed.account == account) {
        attributed.account = Account::kUnattributed;
        attributed.thread = kNoThread;
      }
      observer.OnTime(attributed);
      continue;
    }
    if (const auto* const dump = std::get_if<HeldDump>(&each)) {
      observer.OnCounters(
          {cpu.cpu, dump->time_ns, dump->values, dump->present});
      continue;
    }
    if (const auto* const fault = std::get_if<FaultHit>(&each)) {
      observer.OnFault(*fault);
      continue;
    }
    const auto& held = std::get<HeldCount>(each);
    AttributedCount attributed = held.attributed;
    const ThreadIndex thread =
        from.thread == nullptr ? kNoThread : from.thread->index;
    if (!unattributed || attributed.account != account ||
        attributed.thread != thread) {
      observer.OnCounts(attributed);
      continue;
    }
    const std::uint64_t recorded =
        recorded_events.Has(attributed.event) ? held.recorded : 0;
    attributed.count = recorded;
    if (recorded != 0) observer.OnCounts(attributed);
    attributed.count = held.attributed.count - recorded;
    attributed.account = Account::kUnattributed;
    attributed.thread = kNoThread;
    if (attributed.count != 0) observer.OnCounts(attributed);
  }
  from.held.clear();
}

void Clear(UnconfirmedTime& unconfirmed, std::size_t measures) {
  std::fill_n(unconfirmed.counts.begin(), measures, 0);
  std::fill_n(unconfirmed.recorded.begin(), measures, 0);
  unconfirmed.unsplit_ns.fill(0);
  unconfirmed.any = false;
  unconfirmed.account = nullptr;
  unconfirmed.thread = nullptr;
  unconfirmed.begin_ns = unconfirmed.ns = 0;
  unconfirmed.hooks_ns = unconfirmed.interrupts_ns = 0;
  unconfirmed.counts_begin_ns = UINT64_MAX;
  unconfirmed.held.clear();
}

}  // namespace

void NoteUnconfirmedCount(CpuState& cpu, const AttributedInterval& interval,
                          std::size_t event, std::uint64_t count) {
  UnconfirmedTime& unconfirmed = cpu.unconfirmed;
  // A dump does not separate earlier parts of the occupant, which are
  // confirmed.
  if (count == 0 || !unconfirmed.Has(interval)) return;
  unconfirmed.counts[event] += count;
  unconfirmed.recorded[event] += std::min(count, interval.faults);
  const CpuCounters& counters = cpu.counters;
  if (event != counters.running || !counters.turn.Has(event)) return;
  counters.unsplit.ForEach([&](std::size_t unsplit) {
    unconfirmed.unsplit_ns[unsplit - counters.first_event] += count;
  });
}

void TakeBackCounts(CpuState& cpu, std::span<const CounterKind> kinds) {
  CpuCounters& counters = cpu.counters;
  const UnconfirmedTime& from = cpu.unconfirmed;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::uint64_t count =
        from.counts[i] - (IsFaults(kinds[i]) ? from.recorded[i] : 0);
    if (count == 0) continue;
    from.account->counts[i] -= count;
    if (from.thread != nullptr) from.thread->kernel.counts[i] -= count;
    cpu.unattributed.counts[i] += count;
    counters.unknown[i] += count;
    counters.any_unknown = true;
    counters.unknown_since_ns =
        std::min(counters.unknown_since_ns, from.counts_begin_ns);
    counters.of_dispatch[i] -= std::min(counters.of_dispatch[i], count);
    if (!counters.turn.Has(i)) continue;
    TakeBackInTurn(FindInTurn(counters, nullptr, from.account), counters, from,
                   i, count);
    if (from.thread == nullptr) continue;
    TakeBackInTurn(FindInTurn(counters, from.thread, nullptr), counters, from,
                   i, count);
  }
  TakeBackParts(cpu);
}

void DispatchTracker::BeginUnconfirmed(CpuState& cpu) {
  UnconfirmedTime& unconfirmed = cpu.unconfirmed;
  if (unconfirmed.held.size() >= kMaxHeld) ConfirmOccupant(cpu);
  if (unconfirmed.any) return;
  if (RunsElsewhere(cpu)) [[unlikely]]
    Contradict(cpu);
  if (!cpu.known()) return;
  unconfirmed.any = true;
  unconfirmed.account = cpu.OccupantsAccount();
  unconfirmed.thread = cpu.thread();
  unconfirmed.begin_ns = cpu.last_ns;
  unconfirmed.interrupts_ns = cpu.dispatch.interrupts_ns;
}

void DispatchTracker::NoteUnconfirmed(CpuState& cpu,
                                      AttributedInterval& attributed) const {
  UnconfirmedTime& unconfirmed = cpu.unconfirmed;
  if (observer_ != nullptr && attributed.ns != 0) {
    unconfirmed.held.emplace_back(AttributedTime{
        cpu.cpu, cpu.AccountOf(attributed.account),
        attributed.thread == nullptr ? kNoThread : attributed.thread->index,
        attributed.begin_ns, attributed.end_ns});
  }
  if (!unconfirmed.Has(attributed)) return;
  attributed.unconfirmed = true;
  if (attributed.thread != nullptr &&
      attributed.thread->hooks.last_ns > attributed.begin_ns) {
    unconfirmed.hooks_ns =
        unconfirmed.ns +
        std::min(attributed.thread->hooks.last_ns, attributed.end_ns) -
        attributed.begin_ns;
  }
  unconfirmed.ns += attributed.ns;
}

void DispatchTracker::ConfirmUnconfirmed(CpuState& cpu) {
  ConfirmParts(cpu.counters.uncounted);
  if (observer_ != nullptr) Release(cpu, /*unattributed=*/false, {});
  Clear(cpu.unconfirmed, events_);
}

std::uint64_t DispatchTracker::TakeBack(CpuState& cpu) {
  const UnconfirmedTime& from = cpu.unconfirmed;
  if (!from.any) return cpu.last_ns;
  from.account->ns -= from.ns;
  cpu.unattributed.ns += from.ns;
  if (from.thread != nullptr) {
    DispatchState& dispatch = from.thread->dispatch;
    dispatch.on_cpu_ns -= from.ns;
    // Its clock must not go back under calls that began meanwhile.
    const bool clock_used =
        dispatch.running_cpu != static_cast<std::int32_t>(cpu.cpu) ||
        from.thread->hooks.last_ns > dispatch.switch_in_ns;
    dispatch.unbooked_ns += clock_used ? from.ns : from.hooks_ns;
  }
  TakeBackCounts(cpu, kinds_);
  cpu.dispatch.interrupts_ns = from.interrupts_ns;
  if (queues_.wanted()) queues_.TakeBack(cpu, from.begin_ns);
  if (observer_ != nullptr) {
    MeasureSet recorded_events;
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      if (IsFaults(kinds_[i])) recorded_events.Add(i);
    }
    Release(cpu, /*unattributed=*/true, recorded_events);
  }
  const std::uint64_t begin_ns = from.begin_ns;
  Clear(cpu.unconfirmed, events_);
  return begin_ns;
}

}  // namespace countrace::rmap
