// The intervals of rows: what their threads may have done while records were
// lost or switches were not shown (UnseenTime), and what may belong to others.
//
// Every interval holds the truth of the threads that records show; one without
// any record has no row, and is in no row's limits but the number of threads.
// It is as wide as the unattributed time and
// counts that the row's threads may own, and the calls that were open then; and
// no wider than what is possible: a thread is in one state at a time, a CPU has
// one thread at a time.
// Thread: one.
#ifndef COUNTRACE_RMAP_TABLES_BOUNDS_UNSEEN_BOUNDS_H_
#define COUNTRACE_RMAP_TABLES_BOUNDS_UNSEEN_BOUNDS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "rmap/result/tables.h"
#include "rmap/state/statistics.h"
#include "rmap/tables/input/attribution.h"
#include "rmap/tables/input/table_input.h"

namespace countrace::rmap {

// What a row of a segment may lack, and what it may have too much: sums over
// its paths.
struct SegmentUnseen {
  UnseenSums own;
  UnseenSums children;           // of the segments directly inside
  CertainSums certain;           // if hook records of its process were lost
  std::uint64_t most_calls = 0;  // the same: of all its paths together
  bool path = false;             // of one path, not of a segment
  bool in_kernel = false;        // a system call, a fault, an interrupt
};

// Whose blocked time a row has: a thread's, or that of all of some processes.
struct BlockedOwner {
  const ThreadState* thread = nullptr;
  std::set<const ProcessState*> processes;
  // In all its rows: intervals that may belong to another one, or be others.
  std::uint64_t unsure_times = 0, unsure_ns = 0;
};

class UnseenBounds {
 public:
  explicit UnseenBounds(const TableInput& input);

  // Set the bounds and qualities of a row whose numbers are complete.
  // Requires for processes: all rows of threads; for segments: all rows of
  // processes.
  void OfThread(const ThreadState& thread, ThreadRow& row) const;
  void OfProcess(const ProcessState& process, ProcessRow& row);
  void OfCpu(const CpuState& cpu, CpuRow& row) const;
  // `durations`: of the row's calls.
  void OfSegment(const ProcessState& process, const SegmentUnseen& unseen,
                 const DurationStatistics& durations, SegmentRow& row) const;
  void OfWaker(const BlockedOwner& owner, WakerRow& row) const;

 private:
  // What may be missing in the numbers of a process, and the limits of those of
  // its segments.
  struct OfAll {
    std::uint64_t on_cpu_ns = 0;  // its threads', without unseen ones
    // CPU time in which its open calls are unknown, too.
    std::uint64_t hidden_ns = 0;
    std::uint64_t records = 0;  // lost in its life
    // Dispatches that may have begun before the range of the tables.
    std::uint64_t begun_before = 0;
    bool absent = false;  // no kernel record shows where one of its threads was
    // Its threads' lives, one after the other; kNone: not known.
    std::uint64_t lives_ns = 0;
    std::uint64_t longest_ns = 0;  // no call is longer
    std::uint64_t late_ns = 0;     // its threads'
    std::uint64_t unbooked_ns = 0, switches = 0, faults = 0;
    std::vector<std::uint64_t> counts;  // by kernel event
    std::optional<std::uint64_t> most_on_cpu_ns;
    std::vector<std::uint64_t> most_counts;  // by Report event
  };
  class SegmentLimits;
  void SetCounts(const ThreadState& thread, ThreadRow& row) const;
  // Adds the interval of an estimate to `row`; `more`: what the row may have
  // that was counted without an owner.
  template <typename Row>
  void AddScaled(std::size_t plan, std::uint64_t more, Row& row) const;
  OfAll AllOf(const ProcessState& process) const;
  // Threads that may have ended before the range of the tables: no record in it
  // shows them, and the record of their end may be lost.
  std::uint64_t PerhapsEnded(const ProcessState& process) const;
  // The longest that `thread` can have been there; a process on all CPUs.
  std::uint64_t LifeNs(const ThreadState& thread) const;
  // Time of the tables before the first record of a thread that was there.
  std::uint64_t EarlierNs(const ThreadState& thread) const;
  std::uint64_t CapacityNs(const ProcessState& process) const;
  // Those of exec-runtime: at most `lives_ns`, and the 0.05 % that the
  // scheduler's clock may be faster. As they are for another event.
  Bounds CappedRuntime(std::size_t plan, Bounds bounds, std::uint64_t value,
                       std::uint64_t lives_ns) const;
  // Changes of any thread's state that have no record; kNone: of the kernel's
  // hidden switches, too.
  std::uint64_t MostUnseen() const;
  const OfAll& Known(const ProcessState& process) const;

  const TableInput& input_;
  const UnseenTime& unseen_;
  UnseenTime::Clocks end_;
  std::uint64_t everywhere_ns_;  // hidden, or noticed at the end only
  std::uint64_t outside_ns_ = 0, outside_account_ns_ = 0;
  std::vector<std::uint64_t> outside_counts_;  // by kernel event
  std::map<const ProcessState*, OfAll> processes_;
  std::uint64_t switches_ = 0, faults_ = 0;  // of all of them
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_BOUNDS_UNSEEN_BOUNDS_H_
