// Counts of an interval between two dumps of a CPU that an edge of the tables
// cuts: they begin in the middle of a trace (a flight recording, a range of
// it), or end there. Time, switches and faults have records, which show on
// which side they are. Of other events, what is between the two dumps is in no
// account, and every thread that ran there may have any part of it.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "rmap/dispatch/interval_counts.h"

namespace countrace::rmap {
namespace {

std::uint64_t SwitchesShown(const CpuCounters& counters) {
  // One is counted just after the dump at a switch.
  std::uint64_t switches = counters.at_switch ? 1 : 0;
  for (const AttributedInterval& part : counters.uncounted) {
    switches += part.switched ? 1 : 0;
  }
  return switches;
}

// What records show of a cut interval; absent: nothing of such an event.
std::optional<std::uint64_t> Shown(const CpuState& cpu, CounterKind kind,
                                   const AttributedInterval& last) {
  const std::vector<AttributedInterval>& parts = cpu.counters.uncounted;
  switch (kind) {
    case CounterKind::kClock:
      return last.end_ns - BeginOf(cpu, last);
    case CounterKind::kSwitches:
      return SwitchesShown(cpu.counters);
    case CounterKind::kFaults: {
      std::uint64_t faults = last.faults;
      for (const AttributedInterval& part : parts) faults += part.faults;
      for (const StrayFaults& stray : cpu.counters.strays) {
        faults += stray.faults;
      }
      return faults;
    }
    case CounterKind::kRunTime:
    case CounterKind::kFaultsOfMode:
    case CounterKind::kBusy:
    case CounterKind::kOther:
      break;
  }
  return std::nullopt;
}

bool HasRunTime(const CpuState& cpu, const AttributedInterval& last) {
  const auto runs = [&](const AttributedInterval& interval) {
    return !interval.idle && interval.account != &cpu.interrupts;
  };
  const std::vector<AttributedInterval>& parts = cpu.counters.uncounted;
  return runs(last) || std::any_of(parts.begin(), parts.end(), runs);
}

// The books lack up to `most`.
void NoteCut(CpuState& cpu, std::size_t event, std::uint64_t most) {
  CpuCounters& counters = cpu.counters;
  counters.cut_counts[event] = AddBounded(counters.cut_counts[event], most);
  ++counters.cut_intervals[event];
}

// Threads that ran in the interval may have up to `most` of `event`; if an
// occupant is unknown, any thread.
void AddPerhaps(CpuState& cpu, std::size_t event, std::uint64_t most,
                const AttributedInterval& last) {
  if (most == 0) return;
  NoteCut(cpu, event, most);
  bool unknown = false;
  const auto add = [&](const AttributedInterval& interval) {
    unknown |= interval.account == &cpu.unattributed;
    if (interval.thread == nullptr) return;
    interval.thread->unseen.AddCount(event, most);
  };
  add(last);
  for (const AttributedInterval& part : cpu.counters.uncounted) add(part);
  if (unknown) {
    std::uint64_t& sum = cpu.counters.unknown[event];
    sum = AddBounded(sum, most);
    cpu.counters.any_unknown = true;
  }
  if (cpu.observer != nullptr) {
    cpu.observer->OnUnseen({BeginOf(cpu, last), last.end_ns,
                            static_cast<std::uint32_t>(event), most});
  }
}

// The same for events that have records, of which some are lost if an occupant
// is unknown, or were not made if it is outside.
void AddLost(CpuState& cpu, CounterKind kind, std::size_t event,
             std::uint64_t most, const AttributedInterval& last) {
  if (kind == CounterKind::kClock || most == 0) return;
  const auto any = [&](const CpuAccount& account) {
    const auto in = [&](const AttributedInterval& interval) {
      return interval.account == &account;
    };
    return in(last) || std::any_of(cpu.counters.uncounted.begin(),
                                   cpu.counters.uncounted.end(), in);
  };
  if (any(cpu.unattributed)) {
    AddPerhaps(cpu, event, most, last);
  } else if (any(cpu.outside)) {
    NoteCut(cpu, event, most);
  }
}

}  // namespace

void CutCounts(CpuState& cpu, std::uint64_t time_ns) {
  CpuCounters cut;
  CpuCounters& counters = cpu.counters;
  cut.mmcr = counters.mmcr;
  cut.pause_edges = counters.pause_edges;
  cut.running = counters.running;
  cut.first_event = counters.first_event;
  cut.counted_before = counters.counted | counters.counted_before;
  cut.doubted = counters.doubted;
  cut.cut = cut.dispatch_cut = !cpu.ended();
  if (counters.cut && counters.counted.empty()) {
    // Those of a flight recording began in the same interval.
    cut.before = counters.before;
    cut.before_present = counters.before_present;
    cut.switches_before = counters.switches_before + SwitchesShown(counters);
  } else {
    cut.before = counters.last;
    cut.before_present = counters.counted - counters.stale;
    cut.switches_before = SwitchesShown(counters);
    const std::uint64_t since_ns = counters.uncounted.empty()
                                       ? cpu.last_ns
                                       : counters.uncounted.front().begin_ns;
    cut.since_before_ns = time_ns - std::min(time_ns, since_ns);
  }
  counters = std::move(cut);
}

std::uint64_t CountSinceCut(CpuState& cpu, CounterKind kind, std::size_t event,
                            std::uint64_t value,
                            const AttributedInterval& last) {
  const CpuCounters& counters = cpu.counters;
  // A dump at the edge itself ends the interval of the range before it.
  if (BeginOf(cpu, last) == last.end_ns && SwitchesShown(counters) == 0) {
    return 0;
  }
  const bool known =
      counters.before_present.Has(event) && counters.before[event] <= value;
  const std::uint64_t most =
      known ? value - counters.before[event] : Bounds::kNone;
  if (const auto shown = Shown(cpu, kind, last)) {
    AddLost(cpu, kind, event, most - std::min(most, *shown), last);
    // What a clock counted of the interval is split as AttributeCountsUpTo()
    // does, so that two ranges have all of it.
    if (kind == CounterKind::kClock && known && counters.since_before_ns != 0) {
      return most - std::min(most, counters.since_before_ns);
    }
    return std::min(value, *shown);
  }
  AddPerhaps(cpu, event, most, last);
  return 0;
}

void AttributeCountsUpTo(CpuState& cpu, const MeasuredDump& next,
                         std::span<const CounterKind> kinds,
                         const AttributedInterval& last,
                         const MeasureSet& rotating, bool at_edge) {
  const logformat::EventRecord& record = next.record;
  const CpuCounters& counters = cpu.counters;
  std::array<std::uint64_t, kMaxMeasures> values{};
  logformat::EventRecord dump = record;
  dump.event_id = static_cast<std::uint16_t>(logformat::CpuEvent::kCounters);
  dump.counters = values.data();
  MeasureSet present;
  dump.mmcr = counters.mmcr;
  for (std::size_t i = 0; i < std::min(kinds.size(), kMaxMeasures); ++i) {
    // An estimate does without the rest of a rotation.
    if (rotating.Has(i)) continue;
    // The tables began behind the last dump: see CountSinceCut().
    const bool begun = counters.counted.Has(i);
    const std::uint64_t from = begun ? counters.last[i] : counters.before[i];
    const bool run_time = kinds[i] == CounterKind::kRunTime;
    const bool cut = run_time ? counters.dispatch_cut : counters.cut;
    if (!begun && (!cut || !counters.before_present.Has(i))) {
      continue;
    }
    const bool counted = next.Has(i) && record.mmcr == counters.mmcr &&
                         record.counters[i] >= from;
    std::uint64_t most = counted ? record.counters[i] - from : Bounds::kNone;
    // Only the record of a switch has the run time of the dispatch before it.
    if (run_time && !IsSwitch(record)) {
      most = HasRunTime(cpu, last) ? Bounds::kNone : 0;
    }
    const auto shown = Shown(cpu, kinds[i], last);
    const bool stale = counters.stale.Has(i);
    // CountSinceCut() takes off what a clock counted before the tables.
    const bool all =
        at_edge && (begun || kinds[i] == CounterKind::kClock) && !stale;
    if (all && most != Bounds::kNone) {
      values[i] = from + most;
      present.Add(i);
      continue;
    }
    if (!shown || stale) {
      AddPerhaps(cpu, i, most, last);
      if (stale) continue;
    } else {
      AddLost(cpu, kinds[i], i, most - std::min(most, *shown), last);
    }
    // CountSinceCut() takes that off again.
    const std::uint64_t before_ns = !begun && kinds[i] == CounterKind::kClock
                                        ? counters.since_before_ns
                                        : 0;
    values[i] = from + std::min(shown.value_or(0) + before_ns, most);
    present.Add(i);
  }
  MeasureSet went_back;
  AttributeCounts(cpu, {dump, &present}, kinds, last, rotating, went_back);
}

void AttributeCountsOutside(CpuState& cpu, const MeasuredDump& dump,
                            std::span<const CounterKind> kinds,
                            const AttributedInterval& last,
                            const MeasureSet& rotating, bool all_paused,
                            bool paused) {
  CpuCounters& counters = cpu.counters;
  if (!all_paused) {
    AttributeCountsUpTo(cpu, dump, kinds, last, rotating, /*at_edge=*/false);
  }
  counters.uncounted.clear();
  counters.strays.clear();
  counters.cut = false;
  const bool at_switch = IsSwitch(dump.record);
  for (std::size_t i = 0; i < std::min(kinds.size(), kMaxMeasures); ++i) {
    if (rotating.Has(i)) continue;  // its rotation has ended
    // Up to the next switch, the run time so far is partly that of the pause.
    const bool late = kinds[i] == CounterKind::kRunTime && !at_switch;
    if (dump.Has(i) && !late) {
      const std::uint64_t value = dump.record.counters[i];
      // What the books have stays as it is.
      counters.first[i] += value - counters.last[i];
      counters.last[i] = value;
      counters.counted.Add(i);
      counters.stale.Remove(i);
      // The switch just behind the dump begins a dispatch of the pause.
      if (paused && at_switch && kinds[i] == CounterKind::kSwitches) {
        SkipSwitch(cpu, i);
      }
      continue;
    }
    if (!counters.counted.Has(i)) continue;
    counters.closed[i] += counters.last[i] - counters.first[i];
    counters.before[i] = counters.last[i];
    // Those of the pause are no hidden ones.
    if (kinds[i] != CounterKind::kSwitches) counters.before_present.Add(i);
    counters.first[i] = counters.last[i] = 0;
    counters.counted.Remove(i);
    counters.counted_before.Add(i);
    (late ? counters.dispatch_cut : counters.cut) = true;
  }
  counters.at_switch = at_switch && !paused;
  if (at_switch) counters.dispatch_cut = false;
}

void SkipSwitch(CpuState& cpu, std::size_t event) {
  ++cpu.counters.first[event];
  ++cpu.counters.last[event];
}

MeasureSet AttributeRecordedFaults(CpuState& cpu,
                                   std::span<const CounterKind> kinds,
                                   const MeasureSet& rotating) {
  AttributedInterval last;
  last.account = &cpu.unattributed;
  last.begin_ns = last.end_ns = cpu.last_ns;
  std::array<std::uint64_t, kMaxMeasures> values{};
  logformat::EventRecord dump{};
  dump.event_id = static_cast<std::uint16_t>(logformat::CpuEvent::kCounters);
  dump.counters = values.data();
  dump.mmcr = cpu.counters.mmcr;
  MeasureSet present;
  for (std::size_t i = 0; i < std::min(kinds.size(), kMaxMeasures); ++i) {
    if (kinds[i] != CounterKind::kFaults || rotating.Has(i) ||
        !cpu.counters.counted.Has(i) || cpu.counters.stale.Has(i)) {
      continue;
    }
    values[i] = cpu.counters.last[i] + Shown(cpu, kinds[i], last).value_or(0);
    present.Add(i);
  }
  MeasureSet went_back;
  AttributeCounts(cpu, {dump, &present}, kinds, last, rotating, went_back);
  return present;
}

}  // namespace countrace::rmap
