// Which thread runs on each CPU, and to which account each interval between two
// counter dumps of a CPU belongs.
//
// Counters are cumulative for each CPU. An interval's deltas go to exactly one
// account, so the accounts always add up to end - begin: after a lost record it
// may be unknown where counts belong, never how many there are.
//
//   unknown --(counters: begin)--> thread | idle | outside
//   thread | idle | outside --(dispatch: prev is the occupant)--> next
//   any --(switch_in: a switch without counters)--> next; the time is split
//                                   there, the counts at the next dump
//   any --(prev is another thread, or records lost)--> next; the interval is
//                                                      unattributed
//
// In: records of kCpu streams, in time order. Out: sums in CpuState and
// ThreadState; spans to the observer. Thread: one.
#ifndef COUNTRACE_RMAP_DISPATCH_DISPATCH_TRACKER_H_
#define COUNTRACE_RMAP_DISPATCH_DISPATCH_TRACKER_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "logformat/records.h"
#include "logformat/trace_info.h"
#include "rmap/counters/counter_doubts.h"
#include "rmap/counters/event_set_dumps.h"
#include "rmap/dispatch/blocked_time.h"
#include "rmap/dispatch/interval_counts.h"
#include "rmap/dispatch/kernel_coverage.h"
#include "rmap/state/cpu_state.h"
#include "rmap/state/thread_registry.h"
#include "rmap/timeline_observer.h"

namespace countrace::rmap {

class DispatchTracker {
 public:
  DispatchTracker(const logformat::TraceInfo& info, ThreadRegistry& registry,
                  TimelineObserver* observer);

  void OnDispatch(const logformat::EventRecord& record, std::uint64_t time_ns);
  void OnCounters(const logformat::EventRecord& record, std::uint64_t time_ns);
  void OnSwitchIn(const logformat::EventRecord& record, std::uint64_t time_ns);
  void OnWakeup(const logformat::EventRecord& record, std::uint64_t time_ns);
  // Counters in the middle of a dispatch, at a kernel hook in thread `tid`.
  void OnDump(const logformat::EventRecord& record, std::int32_t tid,
              std::uint64_t time_ns);
  // An interrupt on the CPU of `record`, which may carry counters. Its time and
  // counts go to the CPU's account `interrupts`. Returns the thread state that
  // collects what interrupts do there; null if there is no such CPU.
  ThreadState* EnterInterrupt(const logformat::EventRecord& record,
                              std::uint64_t time_ns);
  ThreadState* LeaveInterrupt(const logformat::EventRecord& record,
                              std::uint64_t time_ns);
  // That thread state, if the CPU had interrupts; else null.
  ThreadState* InterruptWork(std::int32_t cpu);
  // Counts a kernel record of any kind; called before it is processed.
  void OnRecord(std::int32_t cpu);
  // It is unknown how much the counters `events` (bits) counted up to the next
  // dump of `cpu`.
  void OnDoubt(std::int32_t cpu, std::uint32_t events);
  // A fault record of `thread`, counted or not; it may run on `cpu`.
  void OnFault(std::int32_t cpu, ThreadState& thread, std::uint64_t time_ns);
  // Records of `cpu` were lost after the previous one.
  void OnLoss(std::int32_t cpu);
  // The thread on `cpu` continues as `to`: a thread that calls exec takes over
  // the main thread's tid.
  void TransferRunning(std::int32_t cpu, ThreadState& to,
                       std::uint64_t time_ns);
  // The same for threads that are not counted. Returns the thread that was
  // there.
  ThreadState* TransferOutside(std::int32_t cpu, const ThreadState& to);
  // A record changed whether `process` is counted. No dump lies here, so the
  // whole current dispatches of its threads are counted, or are outside.
  void Regate(const ProcessState& process);
  // Ends what is still open. `end_ns` is the last time of the trace.
  void Finish(std::uint64_t end_ns);

  const KernelCoverage& coverage() const { return coverage_; }
  // True if no loss concerns `thread`: no counted loss on any CPU while it
  // lived, and none of its own switches missing.
  bool IsComplete(const ThreadState& thread) const {
    return !thread.lost_edge && thread.dispatch.unseen_switches == 0 &&
           thread.born_at_loss_epoch == (thread.retired
                                             ? thread.retired_at_loss_epoch
                                             : coverage_.loss_epoch);
  }
  const std::deque<CpuState>& cpus() const { return cpus_; }
  // The shape of the dumps, if event sets are multiplexed.
  EventSetDumps& dumps() { return dumps_; }
  const EventSetDumps& dumps() const { return dumps_; }
  // The thread on `cpu`; null if it is idle or its thread is not counted.
  ThreadState* Running(std::int32_t cpu);
  const BlockedTime& blocked() const { return blocked_; }
  // Intervals that are unattributed because a dispatch record contradicts the
  // one before it, although no loss was reported.
  std::uint64_t contradictions() const { return contradictions_; }
  // Intervals in which a counter went back or the MMCR changed.
  const CounterDoubts& doubts() const { return doubts_; }
  std::uint64_t malformed() const { return malformed_; }

 private:
  CpuState* Cpu(std::int32_t cpu);
  // The counted thread with this tid; null: idle, or a thread outside.
  ThreadState* Resolve(std::int32_t tid, std::uint64_t time_ns);
  void Begin(CpuState& cpu, const logformat::EventRecord& record,
             std::uint64_t time_ns);
  // An offline CPU returns: it counted nothing meanwhile.
  void Rejoin(CpuState& cpu, const logformat::EventRecord& record,
              std::uint64_t time_ns);
  // True if `tid` is the occupant of `cpu`. A thread outside that turned out to
  // be counted becomes the occupant.
  bool Confirm(CpuState& cpu, std::int32_t tid);
  // Attributes the time since the last switch to the occupant, or leaves it
  // unattributed. Returns the account that its counts go to.
  AttributedInterval AttributeTime(CpuState& cpu, std::uint64_t time_ns,
                                   bool confirmed);
  // Like AttributeTime(), and the counts, up to a dump, which becomes the last
  // one.
  void Attribute(CpuState& cpu, const logformat::EventRecord& record,
                 std::uint64_t time_ns, bool confirmed);
  void AttributeDump(CpuState& cpu, const logformat::EventRecord& record,
                     const AttributedInterval& last);
  // From here on the dumps belong to another MMCR.
  void ChangeMmcr(CpuState& cpu, const logformat::EventRecord& record,
                  const AttributedInterval& last);
  void NoteWentBack(const CpuState& cpu, std::uint32_t events,
                    const AttributedInterval& last);
  void Occupy(CpuState& cpu, std::int32_t tid, std::uint64_t time_ns,
              bool inferred);
  // Ends open interrupts: a switch shows that they are over.
  void CloseInterrupts(CpuState& cpu, std::uint64_t time_ns);
  void AttributePart(CpuState& cpu, const logformat::EventRecord& record,
                     std::uint64_t time_ns);
  void SwitchIn(ThreadState& thread, std::int32_t cpu, std::uint64_t time_ns);
  // What woke the thread, as far as the trace shows.
  Waker WakerOf(const logformat::EventRecord& record, std::int32_t waker_tid,
                std::int32_t wakee_tid) const;
  LossState loss() const {
    return {coverage_.loss_epoch, coverage_.lossy_cpus != 0};
  }
  // Requires: `thread` has waited since before `time_ns`.
  void EndWait(ThreadState& thread, std::uint64_t time_ns);
  // Drops the occupant's dispatch, whose end contradicts the records. Without a
  // counted loss only its own switch-out is missing, so only it is concerned.
  void Abandon(CpuState& cpu, std::uint64_t time_ns);
  void SwitchOut(ThreadState& thread, std::int32_t cpu, std::uint64_t time_ns,
                 std::uint16_t state);
  // Reports the dispatch up to the last dump to the observer.
  void EmitDispatch(const CpuState& cpu, std::uint16_t state, bool inferred);
  void EmitCounters(const logformat::EventRecord& record,
                    std::uint64_t time_ns);
  void NoteLoss();
  void EndLoss(CpuState& cpu);

  EventSetDumps dumps_;
  std::size_t events_;
  std::vector<CounterKind> kinds_;  // one for each measure
  ThreadRegistry& registry_;
  TimelineObserver* observer_;
  KernelCoverage coverage_;
  BlockedTime blocked_;
  std::deque<CpuState> cpus_;  // ascending by cpu
  std::vector<CpuState*> by_cpu_;
  std::uint64_t contradictions_ = 0, malformed_ = 0;
  CounterDoubts doubts_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_DISPATCH_DISPATCH_TRACKER_H_
