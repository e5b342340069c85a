// Time and counts of CPUs while their occupant is unknown, and so what each
// thread may have done unseen: the upper bounds of the tables.
//
//   lost     records of a CPU are missing, from its last record to the next
//            dispatch or dump
//   hidden   a dispatch record contradicts the one before it: the kernel did
//            not show a switch
//   unended  interrupts without their exits: perhaps the interrupted thread's
//   outside  in a trace of marked processes, after a loss: a thread that is not
//            known has the CPU, and may be one whose fork record was lost
//
// A thread that is on a known CPU is in none of the other intervals. All others
// may have had any part of each. Clocks count the intervals up to any instant,
// so a thread needs their readings at its own records only.
//
// In: intervals, from DispatchTracker. Out: UnseenState of threads, sums of
// call-path nodes. Memory: one entry for each of kMaxEntries intervals, further
// ones share the last. Thread: one.
#ifndef COUNTRACE_RMAP_DISPATCH_UNSEEN_TIME_H_
#define COUNTRACE_RMAP_DISPATCH_UNSEEN_TIME_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rmap/state/thread_state.h"

namespace countrace::rmap {

class UnseenTime {
 public:
  static constexpr std::size_t kMaxEntries = 65536;
  // Counts in all entries: of more than 32 events there are fewer entries.
  static constexpr std::size_t kMaxAmounts = 32 * kMaxEntries;

  // `events`: counts of an interval; one more entry is for its dispatches.
  // `kernel_segments`: the trace has system calls or faults as segments.
  UnseenTime(std::size_t events, bool kernel_segments)
      : amounts_(events + 1),
        kernel_segments_(kernel_segments),
        totals_(amounts_),
        sums_(1, totals_) {}

  // Nothing was unseen so far.
  bool none() const { return !any_; }
  bool in_loss() const { return lossy_cpus_ != 0; }
  // The clocks go on.
  bool goes_on() const { return lossy_cpus_ + outside_cpus_ != 0; }
  std::size_t dispatches() const { return amounts_ - 1; }

  // `now_ns`: when it is noticed.
  void BeginLoss(std::uint64_t begin_ns, std::uint64_t now_ns);
  void EndLoss(std::uint64_t end_ns);
  // `visited`: a thread may have had the CPU in the middle of it, and left it
  // in any state.
  void Hide(std::uint64_t begin_ns, std::uint64_t end_ns, bool visited);
  // `thread`, which has ended, may have had `ns` of such an interval.
  static void HideDead(ThreadState& thread, std::uint64_t ns) {
    thread.unseen.hidden_ns += ns;
    thread.unseen.unknown_ns += ns;
  }
  // `thread` may have had `ns` of its CPU, in interrupts without their exits.
  void HideUnended(ThreadState& thread, std::uint64_t ns);
  // The number of CPUs whose occupant may be a thread with a lost fork.
  void SetOutside(std::uint64_t time_ns, std::uint32_t cpus);
  // Counts of which the owner is unknown, by event, then dispatches. Requires:
  // an entry for each.
  void AddCounts(std::span<const std::uint64_t> counts);

  // `thread` is on no known CPU from `time_ns` on.
  void Leave(ThreadState& thread, std::uint64_t time_ns) const;
  // The same: a record of another thread shows that it left its CPU since then.
  // Where it was may be hidden in an interval that is known by now.
  void LeaveUnseen(ThreadState& thread, std::uint64_t time_ns) const {
    UnseenState& unseen = thread.unseen;
    const std::uint64_t hidden_at_ns = unseen.hidden_at_ns;
    const std::uint32_t counts_known = unseen.counts_known;
    Leave(thread, time_ns);
    unseen.hidden_at_ns = hidden_at_ns;
    unseen.counts_known = counts_known;
    unseen.left_unseen = true;
  }
  // A record shows where `thread` is: adds what it may have done since its last
  // record. No effect while it is on a known CPU.
  void See(ThreadState& thread, std::uint64_t time_ns);
  // `thread` ended while records were being lost: it may have counts of that
  // time, which were known later.
  void SeeDead(ThreadState& thread) const;
  // Which system call or fault `thread` is in is unknown from `since_ns` on.
  void DoubtStack(ThreadState& thread, std::uint64_t since_ns) const;
  // The tables' range begins: the clocks begin at 0. ForgetSums() for each
  // thread must follow.
  void BeginRange(std::uint64_t time_ns);
  // A loss has begun since the thread was last seen.
  bool BegunSince(const UnseenState& unseen) const {
    return unseen.losses_begun < begins_.size();
  }
  // What `thread` may have done before is none of the range's. Where it is may
  // still be unknown, as it was.
  void ForgetSums(ThreadState& thread) const;
  void Begin(ProcessState& process) const {
    process.records_known = static_cast<std::uint32_t>(sums_.size() - 1);
  }
  // No record was lost since `process` began.
  bool IsUnchanged(const ProcessState& process) const {
    return !in_loss() && CountSince(process.records_known, dispatches()) == 0;
  }

  struct Clocks {
    // While records of any CPU were lost; the same, summed over CPUs.
    std::uint64_t lost_ns = 0, lost_cpu_ns = 0;
    std::uint64_t hidden_ns = 0, outside_ns = 0;
  };
  Clocks At(std::uint64_t time_ns) const;
  std::uint64_t unended_ns() const { return unended_ns_; }
  // Counts in all intervals after those that `process` began behind.
  std::uint64_t CountSince(std::uint32_t entry, std::size_t event) const {
    const Sum& then = sums_[entry][event];
    return totals_[event].unbounded != then.unbounded
               ? Bounds::kNone
               : totals_[event].count - then.count;
  }

 private:
  // The known counts, and how many others there were.
  struct Sum {
    std::uint64_t count = 0, unbounded = 0;
    bool operator==(const Sum&) const = default;
  };
  void Advance(std::uint64_t time_ns);
  void AddCountsTo(UnseenState& unseen) const;
  // A thread that left its CPU at `time_ns` is in an unknown state since then;
  // UINT64_MAX: it is as it left.
  std::uint64_t VisitSince(std::uint64_t time_ns) const;

  std::size_t amounts_;
  bool kernel_segments_;
  bool any_ = false;
  std::uint32_t lossy_cpus_ = 0, outside_cpus_ = 0;
  std::uint64_t since_ns_ = 0;  // of the clocks
  std::uint64_t range_begin_ns_ = 0;
  Clocks clocks_;
  std::uint64_t unended_ns_ = 0;  // see HideUnended()
  // For each loss, in the order in which they were noticed: the earliest begin
  // of it and of later ones. So they ascend.
  std::vector<std::uint64_t> begins_;
  // Hidden intervals that a thread may have visited: their ends, ascending.
  std::vector<std::uint64_t> visited_;
  std::uint64_t longest_visited_ns_ = 0;
  std::vector<Sum> totals_;
  // What `totals_` were after each interval; the last one is their present
  // value, up to kMaxEntries.
  std::vector<std::vector<Sum>> sums_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_DISPATCH_UNSEEN_TIME_H_
