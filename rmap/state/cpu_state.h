// What is known of one CPU between two of its records, and its accounts.
#ifndef COUNTRACE_RMAP_STATE_CPU_STATE_H_
#define COUNTRACE_RMAP_STATE_CPU_STATE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "logformat/packet_layout.h"
#include "rmap/counters/event_set_dumps.h"
#include "rmap/state/thread_state.h"
#include "rmap/timeline_observer.h"

namespace countrace::rmap {

using CounterValues = std::array<std::uint64_t, kMaxMeasures>;

// Time and counts of one account of a CPU.
struct CpuAccount {
  std::uint64_t ns = 0;  // DispatchTracker
  // interval_counts
  CounterValues counts{};
  std::vector<SliceSums> slices;  // by event, if sets take turns
};

// What one row did during the turn of a set on a CPU.
struct TurnCounts {
  ThreadState* thread = nullptr;  // null: the account's
  CpuAccount* account = nullptr;
  CounterValues counts{};
};

// An interval of a CPU and who had it.
struct Charged {
  CpuAccount* account = nullptr;
  ThreadState* thread = nullptr;  // null: nobody in scope
  bool idle = false;
  std::uint64_t ns = 0;
  // Where it lies; parts that were added up: from the first to the last.
  std::uint64_t begin_ns = 0, end_ns = 0;
  std::uint64_t faults = 0;  // fault records in it
  // It ended in a switch. Else an interrupt cut the stay in parts.
  bool switched = true;
  bool ended = false;  // a part of a stay that is over
};

// The counters of a CPU, written by interval_counts (and its set_turns.cc).
struct CpuCounters {
  // First and last value seen, and which were ever seen.
  CounterValues first{}, last{};
  CounterValues closed{};  // last - first of the turns before this one
  std::uint32_t counted = 0;
  std::uint32_t counted_before = 0;  // it came again, or got another MMCR
  // Event sets: what is being counted, of which every delta lies in one turn,
  // and who was there.
  std::uint32_t turn = 0;
  std::uint32_t mmcr = 0;
  std::vector<TurnCounts> in_turn;
  // Absent from the last dump: the next delta spans more than one interval.
  std::uint32_t stale = 0;
  CounterValues stale_since_ns{};  // begin of that interval; if stale
  // Counters whose next delta is only a lower bound.
  std::uint32_t doubted = 0;
  CounterValues went_back_from{};  // of those that did at the last dump
  // Dispatches, parts of dispatches and interrupts since the last dump that
  // ended without one; parts of the same dispatch, and interrupts, are added up
  // in one entry.
  std::vector<Charged> uncounted;
  CounterValues of_dispatch{};  // of the one in progress, for the observer
};

// Written by DispatchTracker, but for what its parts say.
struct CpuState {
  // The recording begins in an interrupt, by which every CPU is made to dump.
  CpuState() { interrupt_work.hooks.exit_expected = true; }

  enum class Occupant : std::uint8_t { kUnknown, kIdle, kOutside, kThread };

  std::uint32_t cpu = 0;
  // Whose the CPU was when a record of the kernel came, to share out what the
  // recorder's programs took.
  enum class RecordPlace : std::uint8_t {
    kProcesses,
    kIdle,
    kInterrupts,
    kUnattributed
  };
  static constexpr std::size_t kRecordPlaces = 4;
  std::array<std::uint64_t, kRecordPlaces> records{};

  bool begun = false, ended = false;
  // First dump, end of what is charged.
  std::uint64_t begin_ns = 0, last_ns = 0;
  std::uint64_t absent_ns = 0;  // of it, between an end and the next begin
  std::uint64_t dispatches = 0;
  CpuAccount busy, idle, outside, interrupts, unattributed;
  std::uint64_t faults = 0;  // fault records of the occupant since last_ns

  Occupant occupant = Occupant::kUnknown;
  ThreadState* thread = nullptr;  // kThread
  std::int32_t outside_tid = 0;   // kOutside
  bool lossy = false;             // records lost since the last dump

  // Interrupts entered and not left; what they did, as if it were a thread.
  std::uint32_t open_interrupts = 0;
  ThreadState interrupt_work;

  CpuCounters counters;

  TimelineObserver* observer = nullptr;
  // The dispatch in progress, for the observer.
  struct InProgress {
    std::uint64_t begin_ns = 0;
    bool inferred = false;
    std::uint64_t interrupts_ns = 0;
  } dispatch;

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
