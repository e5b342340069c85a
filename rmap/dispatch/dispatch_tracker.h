// Who runs on each CPU, and to which account each interval between two counter
// dumps of a CPU belongs.
//
// Counters are cumulative for each CPU, so an interval's deltas go to exactly
// one account and the accounts always sum to end - begin: a lost record loses
// where, never how many.
//
//   unknown --(counters: begin)--> thread | idle | outside
//   thread | idle | outside --(dispatch: prev is who we thought)--> next
//   any --(switch_in: a switch without counters)--> next; the time is split
//                                   there, the counts at the next dump
//   any --(prev is somebody else, or records lost)--> next; the interval is
//                                                     unattributed
//
// In: records of kCpu streams, in time order. Out: sums in CpuState and
// ThreadState; spans to the observer. Thread: one.
#ifndef COUNTRACE_RMAP_DISPATCH_DISPATCH_TRACKER_H_
#define COUNTRACE_RMAP_DISPATCH_DISPATCH_TRACKER_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "logformat/read/trace_reader.h"
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
  // Counters in the middle of a stay, at a kernel hook in thread `tid`.
  void OnDump(const logformat::EventRecord& record, std::int32_t tid,
              std::uint64_t time_ns);
  // An interrupt on the CPU of `record`, which may carry counters. Its time and
  // counts go to the CPU's account `interrupts`. Returns the thread that stands
  // for what interrupts do there; null if there is no such CPU.
  ThreadState* EnterInterrupt(const logformat::EventRecord& record,
                              std::uint64_t time_ns);
  ThreadState* LeaveInterrupt(const logformat::EventRecord& record,
                              std::uint64_t time_ns);
  // That thread, if interrupts happened there.
  ThreadState* InterruptWork(std::int32_t cpu);
  // A record of the kernel came, of whatever kind; before it is looked at.
  void OnRecord(std::int32_t cpu);
  // Of the counters `events` (bits) the next dump of `cpu` does not say how
  // much was counted since the one before.
  void OnDoubt(std::int32_t cpu, std::uint32_t events);
  // A fault record of `thread`, which may run on `cpu`, counted or not.
  void OnFault(std::int32_t cpu, ThreadState& thread);
  // Records of `cpu` were lost after its last one.
  void OnLoss(std::int32_t cpu);
  // The thread on `cpu` goes on as `to`: a thread that calls exec takes over
  // the main thread's tid.
  void TransferRunning(std::int32_t cpu, ThreadState& to,
                       std::uint64_t time_ns);
  // The same of threads that are not counted. Returns the thread that was
  // there.
  ThreadState* TransferOutside(std::int32_t cpu, const ThreadState& to);
  // A record told whether `process` is counted: the stays of its threads that
  // go on are, as a whole, or are outside, since no dump lies here.
  void Regate(const ProcessState& process);
  // Ends what is still open. `end_ns` is the last time of the trace.
  void Finish(std::uint64_t end_ns);

  const KernelCoverage& coverage() const { return coverage_; }
  // True if nothing that may concern `thread` was lost: no counted loss on any
  // CPU while it lived, no switch of its own unseen.
  bool IsComplete(const ThreadState& thread) const {
    return !thread.lost_edge && thread.dispatch.unseen_switches == 0 &&
           thread.born_at_loss_epoch == (thread.retired
                                             ? thread.retired_at_loss_epoch
                                             : coverage_.loss_epoch);
  }
  const std::deque<CpuState>& cpus() const { return cpus_; }
  // Shape of the dumps, if event sets take turns.
  EventSetDumps& dumps() { return dumps_; }
  const EventSetDumps& dumps() const { return dumps_; }
  // Thread on `cpu`, null if it is nobody who is counted.
  ThreadState* Running(std::int32_t cpu);
  const BlockedTime& blocked() const { return blocked_; }
  // Intervals unattributed because a dispatch record did not follow from the
  // one before it, although no loss was reported.
  std::uint64_t contradictions() const { return contradictions_; }
  // Values that went back, of counters of which nothing better is known.
  const CounterDoubts& doubts() const { return doubts_; }
  std::uint64_t malformed() const { return malformed_; }

 private:
  CpuState* Cpu(std::int32_t cpu);
  // Who `tid` is among the counted: null = idle or somebody outside.
  ThreadState* Resolve(std::int32_t tid, std::uint64_t time_ns);
  void Begin(CpuState& cpu, const logformat::EventRecord& record,
             std::uint64_t time_ns);
  // A CPU that went comes again: nothing was counted there meanwhile.
  void Rejoin(CpuState& cpu, const logformat::EventRecord& record,
              std::uint64_t time_ns);
  // True if `cpu` was occupied by `tid` as we thought. Lets somebody outside
  // who turned out to be in scope become the occupant.
  bool Confirm(CpuState& cpu, std::int32_t tid);
  // Gives the time since the last switch to the occupant, or to unattributed.
  // Returns what its counts go to.
  Charged ChargeTime(CpuState& cpu, std::uint64_t time_ns, bool confirmed);
  // The same up to a dump, which becomes the last one, and the counts.
  void Charge(CpuState& cpu, const logformat::EventRecord& record,
              std::uint64_t time_ns, bool confirmed);
  void ChargeDump(CpuState& cpu, const logformat::EventRecord& record,
                  const Charged& last);
  // The dumps are those of another MMCR from here on.
  void ChangeMmcr(CpuState& cpu, const logformat::EventRecord& record,
                  const Charged& last);
  void NoteWentBack(const CpuState& cpu, std::uint32_t events,
                    const Charged& last);
  void Occupy(CpuState& cpu, std::int32_t tid, std::uint64_t time_ns,
              bool inferred);
  // Ends what is still open of interrupts: a switch shows that they are over.
  void CloseInterrupts(CpuState& cpu, std::uint64_t time_ns);
  void ChargePart(CpuState& cpu, const logformat::EventRecord& record,
                  std::uint64_t time_ns);
  void SwitchIn(ThreadState& thread, std::int32_t cpu, std::uint64_t time_ns);
  // Who makes somebody runnable, as far as the log tells.
  Waker WakerOf(const logformat::EventRecord& record, std::int32_t waker_tid,
                std::int32_t wakee_tid) const;
  LossState loss() const {
    return {coverage_.loss_epoch, coverage_.lossy_cpus != 0};
  }
  // Requires: it waits since before `time_ns`.
  void EndWait(ThreadState& thread, std::uint64_t time_ns);
  // Drops the occupant's dispatch, which did not end as recorded. Without a
  // counted loss only its own switch-out is missing, so only it is concerned.
  void Abandon(CpuState& cpu, std::uint64_t time_ns);
  void SwitchOut(ThreadState& thread, std::int32_t cpu, std::uint64_t time_ns,
                 std::uint16_t state);
  // Tells the observer the stay until the last dump.
  void EmitStay(const CpuState& cpu, std::uint16_t state, bool inferred);
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
