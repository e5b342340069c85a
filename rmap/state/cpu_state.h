// The state of one CPU between two of its records, and its accounts.
#ifndef COUNTRACE_RMAP_STATE_CPU_STATE_H_
#define COUNTRACE_RMAP_STATE_CPU_STATE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "logformat/packet_layout.h"
#include "rmap/counters/event_set_dumps.h"
#include "rmap/result/timeline_observer.h"
#include "rmap/state/cpu_occupancy.h"
#include "rmap/state/thread_state.h"

namespace countrace::rmap {

using CounterValues = std::array<std::uint64_t, kMaxMeasures>;

// Time and counts of one account of a CPU.
struct CpuAccount {
  std::uint64_t ns = 0;  // written by DispatchTracker
  // Written by interval_counts.
  CounterValues counts{};
  EventSlices slices;  // if sets are multiplexed
};

// What one row did on a CPU during one rotation of an event set.
struct TurnCounts {
  using OfSet = std::array<std::uint64_t, logformat::kMaxDumpValues>;

  ThreadState* thread = nullptr;  // null: the account's
  CpuAccount* account = nullptr;
  std::uint64_t running_ns = 0;
  OfSet counts{};  // by event of the set
  // The same: the part of its running time in which several rows ran and the
  // count could not be split among them.
  OfSet unsplit_ns{};
};

// What one row did in it, of one event.
struct RowSlice {
  EventSlices* sums = nullptr;  // of the row
  std::size_t event = 0;
  Slice slice;
};

// An interval of a CPU and its occupant.
struct AttributedInterval {
  CpuAccount* account = nullptr;
  ThreadState* thread = nullptr;  // null: no thread in scope
  bool idle = false;
  std::uint64_t ns = 0;
  // The interval; for added parts, from the first one's begin to the last one's
  // end.
  std::uint64_t begin_ns = 0, end_ns = 0;
  std::uint64_t faults = 0;  // fault records in it
  // It ended in a switch; otherwise an interrupt cut the dispatch into parts.
  bool switched = true;
  bool ended = false;        // part of a dispatch that is over
  bool unconfirmed = false;  // part of UnconfirmedTime
  bool hidden = false;       // a switch in it is not shown

  // `other` goes on with this one: they are parts of one dispatch, or both are
  // interrupts.
  bool GoesOnWith(const AttributedInterval& other) const {
    return !switched && !ended && account == other.account &&
           thread == other.thread;
  }
  void Add(const AttributedInterval& other) {
    ns += other.ns;
    end_ns = other.end_ns;
    faults += other.faults;
  }
};

// Fault records of a thread that was not the occupant, as far as it was known.
// thread null: it is not counted.
struct StrayFaults {
  ThreadState* thread = nullptr;
  std::uint64_t faults = 0;
};

// The counters of a CPU; written by interval_counts (and its set_turns.cc).
struct CpuCounters {
  // The first and last value seen, and which counters were ever seen.
  CounterValues first{}, last{};
  CounterValues closed{};  // last - first of earlier rotations
  MeasureSet counted;
  MeasureSet counted_before;  // before the CPU came back or the MMCR changed
  // Event sets: the counters whose deltas lie in the current rotation, the
  // MMCR, and the rows that ran in it.
  MeasureSet turn;
  std::uint32_t mmcr = 0;
  // The measure that is that set's running time, and its first event.
  std::size_t running = 0, first_event = 0;
  std::vector<TurnCounts> in_turn;
  // By set: the first of its two rotations in the present round.
  std::array<std::optional<std::vector<RowSlice>>, logformat::kMaxEventSets>
      first_of_round;
  // Events in sets whose count of the present interval cannot be split.
  MeasureSet unsplit;
  // Absent from the last dump: the next delta covers more than one interval.
  MeasureSet stale;
  CounterValues stale_since_ns{};  // begin of that interval, if stale
  // Counters whose next delta is only a lower bound.
  MeasureSet doubted;
  CounterValues went_back_from{};  // for those that did at the last dump
  // The tables begin between two dumps: counts up to the first one behind it
  // are those that records show. The last values before it, if there is a dump.
  bool cut = false;
  // So is the dispatch: its run time is counted at its end alone.
  bool dispatch_cut = false;
  MeasureSet before_present;
  CounterValues before{};
  // The time from that dump to the begin of the tables; 0: unknown. The
  // switches in it that records show, from the dump's own on.
  std::uint64_t since_before_ns = 0, switches_before = 0;
  // What the intervals that edges of a range cut may have counted besides, and
  // how many they are.
  CounterValues cut_counts{}, cut_intervals{};
  bool at_switch = false;  // the last dump was a dispatch record
  // KernelCoverage::pause_edges at the last dump.
  std::uint32_t pause_edges = 0;
  // Dispatches, parts of dispatches and interrupts since the last dump that
  // ended without a dump. Parts of one dispatch, and interrupts, are summed in
  // one entry each.
  std::vector<AttributedInterval> uncounted;
  std::vector<StrayFaults> strays;  // since the last dump, one for each thread
  CounterValues
      of_dispatch{};  // counts of the current dispatch, for the observer
  // Counts of the latest dump that any thread may have; DispatchTracker takes
  // them.
  CounterValues unknown{};
  bool any_unknown = false;
  std::uint64_t unknown_since_ns = UINT64_MAX;  // begin, if before that dump's
};

// A count, and the part of it that records name the owner of.
struct HeldCount {
  AttributedCount attributed;
  std::uint64_t recorded;
};

struct HeldDump {
  std::uint64_t time_ns;
  std::vector<std::uint64_t> values;
  MeasureSet present;
};

// What a CPU's occupant got since the last record that names it. A record of an
// interrupt names no thread: before it there may be a switch that the kernel
// did not show and a later record contradicts. Written by DispatchTracker and
// interval_counts.
struct UnconfirmedTime {
  bool any = false;
  CpuAccount* account = nullptr;
  ThreadState* thread = nullptr;
  std::uint64_t begin_ns = 0;
  std::uint64_t ns = 0;
  std::uint64_t hooks_ns = 0;       // part of it, up to the thread's last hook
  std::uint64_t interrupts_ns = 0;  // of the dispatch, before it
  // Counts of all dumps in it, from the begin of the first one's interval on;
  // `recorded`: the part that fault records show.
  std::uint64_t counts_begin_ns = UINT64_MAX;
  CounterValues counts{}, recorded{};
  TurnCounts::OfSet unsplit_ns{};  // as in TurnCounts
  // For the observer, in the order in which it gets them.
  std::vector<std::variant<AttributedTime, HeldCount, HeldDump, FaultHit>> held;

  bool Has(const AttributedInterval& interval) const {
    return interval.account == account && interval.thread == thread;
  }
};

// Written by DispatchTracker, except where a part names another unit.
struct CpuState : CpuOccupancy {
  // Recording begins in an interrupt, which makes every CPU dump.
  CpuState() { interrupt_work.hooks.exit_expected = true; }

  std::uint32_t cpu = 0;
  // Which account the CPU was in when a kernel record came. The run time of the
  // recorder's BPF programs is split by these numbers.
  enum class RecordPlace : std::uint8_t {
    kProcesses,
    kIdle,
    kInterrupts,
    kUnattributed
  };
  static constexpr std::size_t kRecordPlaces = 4;
  std::array<std::uint64_t, kRecordPlaces> records{};

  // The first dump, and the end of the attributed time.
  std::uint64_t begin_ns = 0, last_ns = 0;
  // While it is hidden: as many as a counter shows, and threads that ended
  // meanwhile and may have had the CPU.
  std::uint64_t hidden_switches = 0;
  std::vector<ThreadState*> hidden_dead;
  std::uint64_t absent_ns = 0;  // part of it, between an end and the next begin
  std::uint64_t cuts = 0;       // ends without a last dump
  std::uint64_t dispatches = 0;
  CpuAccount busy, idle, outside, interrupts, unattributed;
  std::uint64_t faults = 0;  // fault records of the occupant since last_ns

  bool outside_unknown = false;  // a thread without a fork record, perhaps
  std::uint64_t seen_ns = 0;     // time of the latest record
  // While it is lost: Bounds::kNone: unknown; and of losses that are over.
  std::uint64_t lost_records = 0, all_lost_records = 0;
  // Interrupts may be open that were not recorded, since then; 0: none.
  std::uint64_t interrupts_unknown_since_ns = 0;

  // Before the tables begin (earlier_records.cc): the thread that runs, -1:
  // unknown; and interrupts that are open, later those of them that still are.
  std::int32_t earlier_tid = -1;
  std::uint32_t earlier_interrupts = 0;

  // Interrupts entered and not left, and what they did, kept like a thread.
  std::uint32_t open_interrupts = 0;
  std::uint64_t interrupts_since_ns = 0;  // enter of the outermost
  bool interrupts_counted = false;        // that record has counters
  // Part of `interrupts` without their exits: it may be the interrupted work's.
  // By Occupant.
  std::array<std::uint64_t, 4> unended_ns{};
  ThreadState interrupt_work;

  CpuCounters counters;
  UnconfirmedTime unconfirmed;

  TimelineObserver* observer = nullptr;
  // The current dispatch, for the observer.
  struct InProgress {
    std::uint64_t begin_ns = 0;
    bool inferred = false;
    std::uint64_t interrupts_ns = 0;
    std::uint32_t pause_edges = 0;  // at its begin
  } dispatch;

  // Records show its thread here, and on no other CPU.
  bool RunsHere() const {
    return thread() != nullptr &&
           thread()->dispatch.running_cpu == static_cast<std::int32_t>(cpu);
  }
  CpuAccount* OccupantsAccount() {
    CpuAccount* const accounts[] = {&unattributed, &idle, &outside, &busy};
    return accounts[static_cast<std::size_t>(occupant())];
  }
  Account AccountOf(const CpuAccount* account) const {
    return account == &busy         ? Account::kProcesses
           : account == &idle       ? Account::kIdle
           : account == &interrupts ? Account::kInterrupts
           : account == &outside    ? Account::kOutside
                                    : Account::kUnattributed;
  }
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_STATE_CPU_STATE_H_
