#include "rmap/dispatch/interval_counts.h"

#include <algorithm>
#include <utility>

namespace countrace::rmap {
namespace {

void AddToTurn(std::vector<TurnCounts>& in_turn, ThreadState* thread,
               CpuAccount* account, std::size_t event, std::uint64_t count) {
  // Whoever ran last comes first.
  const auto at = std::find_if(
      in_turn.rbegin(), in_turn.rend(), [&](const TurnCounts& row) {
        return row.thread == thread && row.account == account;
      });
  if (at != in_turn.rend()) {
    at->counts[event] += count;
    return;
  }
  in_turn.push_back({thread, account, {}});
  in_turn.back().counts[event] = count;
}

// Out of the way: reports have no observer.
[[gnu::noinline, gnu::cold]] void Tell(const CpuState& cpu, const Charged& stay,
                                       std::size_t event, std::uint64_t count) {
  if (count == 0) return;
  cpu.observer->OnCounts(
      {cpu.cpu, cpu.AccountOf(stay.account),
       stay.thread == nullptr ? kNoThread : stay.thread->index, stay.begin_ns,
       stay.end_ns, static_cast<std::uint32_t>(event), count});
}

void Add(CpuState& cpu, const Charged& stay, std::size_t event,
         std::uint64_t count) {
  stay.account->counts[event] += count;
  if (stay.thread != nullptr) stay.thread->counts[event] += count;
  if (cpu.observer != nullptr) [[unlikely]]
    Tell(cpu, stay, event, count);
  if (count == 0 || !(cpu.turn >> event & 1u)) return;
  AddToTurn(cpu.in_turn, nullptr, stay.account, event, count);
  if (stay.thread != nullptr && stay.thread != &cpu.interrupt_work) {
    AddToTurn(cpu.in_turn, stay.thread, nullptr, event, count);
  }
}

// Nobody's: counted between `begin_ns` and `end_ns`.
void AddUnattributed(CpuState& cpu, std::size_t event, std::uint64_t count,
                     std::uint64_t begin_ns, std::uint64_t end_ns) {
  Charged nobody;
  nobody.account = &cpu.unattributed;
  nobody.begin_ns = begin_ns;
  nobody.end_ns = end_ns;
  Add(cpu, nobody, event, count);
}

// Begin of what the next dump counts.
std::uint64_t BeginOf(const CpuState& cpu, const Charged& last) {
  return cpu.uncounted.empty() ? last.begin_ns : cpu.uncounted.front().begin_ns;
}

// True if nobody but `last` can have caused a fault: the others were idle, or
// interrupts, or other parts of the same stay, or as little counted as it.
bool OnlyLastFaults(const CpuState& cpu, const Charged& last) {
  return !last.idle && std::all_of(cpu.uncounted.begin(), cpu.uncounted.end(),
                                   [&](const Charged& stay) {
                                     return stay.idle ||
                                            stay.account == &cpu.interrupts ||
                                            (stay.account == &cpu.outside &&
                                             last.account == &cpu.outside) ||
                                            (stay.thread != nullptr &&
                                             stay.thread == last.thread);
                                   });
}

// A part of the stay that goes on, which an interrupt cut off.
bool IsPartOfStay(const CpuState& cpu, const Charged& part) {
  return !part.switched && !part.ended && part.account != &cpu.interrupts;
}

void LeaveUnattributed(CpuState& cpu, std::size_t event, std::uint64_t count,
                       const Charged& last) {
  if (count == 0) return;
  AddUnattributed(cpu, event, count, BeginOf(cpu, last), last.end_ns);
  if (last.thread != nullptr) last.thread->shares_counts = true;
  for (const Charged& stay : cpu.uncounted) {
    if (stay.thread != nullptr) stay.thread->shares_counts = true;
  }
}

// What the stays since the last dump counted is a lower bound.
[[gnu::noinline, gnu::cold]] void Doubt(CpuState& cpu, std::uint32_t went_back,
                                        const Charged& last) {
  const std::uint32_t events = std::exchange(cpu.doubted, 0) | went_back;
  const auto doubt = [events](const Charged& stay) {
    if (stay.thread == nullptr) return;
    stay.thread->shares_counts = true;
    stay.thread->stack.Doubt(/*thread=*/0, /*kernel=*/events);
  };
  doubt(last);
  for (const Charged& stay : cpu.uncounted) doubt(stay);
}

// What `last` keeps of `count`; the rest is given away.
std::uint64_t Share(CpuState& cpu, CounterKind kind, std::size_t event,
                    std::uint64_t count, const Charged& last) {
  switch (kind) {
    case CounterKind::kClock:
    case CounterKind::kSwitches: {
      std::uint64_t rest = count;
      for (const Charged& stay : cpu.uncounted) {
        const std::uint64_t switches = stay.switched ? 1 : 0;
        const std::uint64_t share =
            std::min(rest, kind == CounterKind::kClock ? stay.ns : switches);
        Add(cpu, stay, event, share);
        if (IsPartOfStay(cpu, stay)) cpu.stay_counts[event] += share;
        rest -= share;
      }
      if (kind == CounterKind::kClock || last.account != &cpu.interrupts) {
        return rest;
      }
      // An interrupt switches to nobody: the stay it cut began with a switch.
      for (const Charged& part : cpu.uncounted) {
        if (!IsPartOfStay(cpu, part)) continue;
        Add(cpu, part, event, rest);
        cpu.stay_counts[event] += rest;
        return 0;
      }
      return rest;
    }
    case CounterKind::kFaults: {
      // Each fault has a record, but those of hidden threads.
      if (OnlyLastFaults(cpu, last)) return count;
      const std::uint64_t own = std::min(count, last.faults);
      std::uint64_t rest = count - own;
      for (const Charged& stay : cpu.uncounted) {
        const std::uint64_t share = std::min(rest, stay.faults);
        Add(cpu, stay, event, share);
        if (IsPartOfStay(cpu, stay)) cpu.stay_counts[event] += share;
        rest -= share;
      }
      LeaveUnattributed(cpu, event, rest, last);
      return own;
    }
    case CounterKind::kBusy:
      if (OnlyLastFaults(cpu, last)) return count;
      break;
    case CounterKind::kOther:
      break;
  }
  LeaveUnattributed(cpu, event, count, last);
  return 0;
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
    } else if (name == "context-switches") {
      kind = CounterKind::kSwitches;
    } else if (name == "page-faults") {
      kind = CounterKind::kFaults;
    } else if (name == "minor-faults" || name == "major-faults") {
      kind = CounterKind::kBusy;
    }
    kinds.push_back(kind);
  }
  kinds.insert(kinds.end(), sets, CounterKind::kClock);
  return kinds;
}

void AddUncounted(CpuState& cpu, const Charged& charged) {
  if (!charged.switched) {
    for (Charged& part : cpu.uncounted) {
      if (part.switched || part.ended || part.account != charged.account ||
          part.thread != charged.thread) {
        continue;
      }
      part.ns += charged.ns;
      part.end_ns = charged.end_ns;
      part.faults += charged.faults;
      return;
    }
  }
  cpu.uncounted.push_back(charged);
}

void EndParts(CpuState& cpu) {
  for (Charged& part : cpu.uncounted) {
    // They belong to a stay that ends; its switch is counted with its last
    // part, or at its end.
    if (!part.switched && part.account != &cpu.interrupts) part.ended = true;
  }
}

std::uint32_t ChargeCounts(CpuState& cpu, const logformat::EventRecord& record,
                           std::span<const CounterKind> kinds,
                           const Charged& last, std::uint32_t rotating) {
  std::uint32_t went_back = 0;
  const std::size_t events = std::min(kinds.size(), kMaxMeasures);
  for (std::size_t i = 0; i < events; ++i) {
    const std::uint32_t bit = 1u << i;
    if (record.counters == nullptr || !(record.present & bit)) {
      if (!(rotating & bit)) {
        if (!(cpu.stale & bit)) cpu.stale_since_ns[i] = BeginOf(cpu, last);
        cpu.stale |= bit;
      }
      continue;
    }
    const std::uint64_t value = record.counters[i];
    if (rotating & bit & ~cpu.turn) {
      // Its first dump in this turn: no delta reaches back across the others.
      cpu.turn |= bit;
      cpu.counted |= bit;
      cpu.first[i] = cpu.last[i] = value;
      continue;
    }
    if (!(cpu.counted & bit)) {
      cpu.counted |= bit;
      cpu.stale &= ~bit;
      cpu.first[i] = cpu.last[i] = value;
      continue;
    }
    std::uint64_t delta = 0;
    if (value >= cpu.last[i]) {
      delta = value - cpu.last[i];
    } else {
      // The CPU's total stays the sum of its deltas.
      cpu.first[i] -= cpu.last[i] - value;
      cpu.went_back_from[i] = cpu.last[i];
      went_back |= bit;
    }
    cpu.last[i] = value;
    if (cpu.stale & bit) {
      cpu.stale &= ~bit;
      AddUnattributed(cpu, i, delta, cpu.stale_since_ns[i], last.end_ns);
      continue;
    }
    if (!cpu.uncounted.empty()) {
      delta = Share(cpu, kinds[i], i, delta, last);
    }
    Add(cpu, last, i, delta);
    if (last.account != &cpu.interrupts) cpu.stay_counts[i] += delta;
  }
  if ((cpu.doubted | went_back) != 0) [[unlikely]]
    Doubt(cpu, went_back, last);
  cpu.uncounted.clear();
  return went_back;
}

}  // namespace countrace::rmap
