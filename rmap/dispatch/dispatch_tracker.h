// Which thread runs on each CPU, and to which account each interval between two
// counter dumps of a CPU belongs.
//
// Counters are cumulative for each CPU. An interval's deltas go to exactly one
// account, so the accounts always add up to end - begin: after a lost record it
// may be unknown where counts belong, never how many there are.
//
// Who has a CPU: cpu_occupancy.h. At a switch without counters (switch_in) the
// time is split there, the counts at the next dump.
//
// In: records of kCpu streams, in time order. Out: sums in CpuState and
// ThreadState; spans to the observer. Thread: one.
#ifndef COUNTRACE_RMAP_DISPATCH_DISPATCH_TRACKER_H_
#define COUNTRACE_RMAP_DISPATCH_DISPATCH_TRACKER_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "logformat/records.h"
#include "logformat/trace_info.h"
#include "rmap/counters/counter_doubts.h"
#include "rmap/counters/event_set_dumps.h"
#include "rmap/dispatch/blocked_time.h"
#include "rmap/dispatch/interval_counts.h"
#include "rmap/dispatch/kernel_coverage.h"
#include "rmap/dispatch/queue_time.h"
#include "rmap/dispatch/unseen_time.h"
#include "rmap/result/timeline_observer.h"
#include "rmap/state/cpu_state.h"
#include "rmap/state/thread_registry.h"

namespace countrace::rmap {

class DispatchTracker {
 public:
  DispatchTracker(const logformat::TraceInfo& info, ThreadRegistry& registry,
                  TimelineObserver* observer, const WantedRows& rows);

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
                              std::uint32_t hook_id, std::uint64_t time_ns);
  // That thread state, if the CPU had interrupts; else null.
  ThreadState* InterruptWork(std::int32_t cpu) const;
  // Before the tables begin, because later records of other CPUs were
  // overwritten: which thread runs where. Interrupts: `interrupt`.
  void OnEarlier(const logformat::EventRecord& record, bool interrupt);
  void OnEarlierLoss(std::int32_t cpu);
  // The tables begin. What follows is as for the records of a new trace, but
  // that CPUs are in the middle of a dispatch.
  void BeginTables(std::uint64_t time_ns);
  // The tables are of a range that begins: drops every sum so far.
  void BeginRange(std::uint64_t time_ns);
  // A pause begins, or ends.
  void SetPaused(bool paused) {
    coverage_.paused = paused;
    ++coverage_.pause_edges;
    blocked_.SetPaused(paused);
  }
  // The thread that had the CPU of `record` until then, -1: not recorded.
  // Absent: such a record does not say.
  static std::optional<std::int32_t> OccupantBefore(
      const logformat::EventRecord& record);
  // The range ends, and so does its part of the CPU of `record`, which comes
  // later: `tid` had the CPU until then. If the CPU comes back with that
  // record, what it did is not recorded. Requires: it is open.
  void EndRange(const logformat::EventRecord& record, std::int32_t tid,
                std::uint64_t time_ns);
  // A record behind the range shows which threads were blocked at its end,
  // `time_ns`; a loss there that this is not known.
  void SettleBehind(const logformat::EventRecord& record);
  void LoseBehind(std::uint64_t time_ns);
  // Counts a kernel record of any kind; called before it is processed.
  void OnRecord(std::int32_t cpu, std::uint64_t time_ns);
  // It is unknown how much the counters `events` (bits) counted up to the next
  // dump of `cpu`.
  void OnDoubt(std::int32_t cpu, const MeasureSet& events);
  // A fault record of `thread`, counted or not; it may run on `cpu`.
  void OnFault(std::int32_t cpu, ThreadState& thread, std::uint64_t time_ns);
  // `records` of `cpu` (Bounds::kNone: unknown) were lost after the previous
  // one, which came at seen_ns, or after `begin_ns` if there is none.
  void OnLoss(std::int32_t cpu, std::uint64_t begin_ns, std::uint64_t records);
  bool AnyOpen() const;
  // A dump at `time_ns` for `reason` is the last one of its CPU.
  bool IsEnd(std::uint32_t reason, std::uint64_t time_ns) const;
  // A fork record of `child` came.
  void OnFork(ThreadState& child, std::uint64_t time_ns);
  // `thread` left its CPU last at `stack` (Samples::frames; 0: not known). It
  // has come back, or the recording ends.
  void OnOffCpuStack(const ThreadState& thread, std::uint32_t stack) {
    blocked_.OnStack(thread, stack);
  }
  // The last known thread of `process` exited.
  void OnEnd(ProcessState& process) const {
    process.settled = unseen_.IsUnchanged(process);
  }
  // A record other than a switch shows that `thread` runs.
  void SeeRunning(ThreadState& thread, std::uint64_t time_ns) {
    if (!unseen_.none() && thread.dispatch.running_cpu < 0) [[unlikely]]
      SeeUnknown(thread, time_ns);
  }
  // False: every record of `thread` is in one dispatch, or nothing was lost.
  bool MayBeUnseen(const ThreadState& thread) const {
    return unseen_.goes_on() && thread.dispatch.running_cpu < 0;
  }
  const UnseenTime& unseen() const { return unseen_; }
  // Records before the tables were overwritten.
  bool begun_inside() const { return begun_inside_; }
  // Time after the last records of CPUs, if nothing says that any were lost.
  std::uint64_t cut_ns() const { return cut_ns_; }
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
  const std::deque<CpuState>& cpus() const { return cpus_; }
  // A CPU without a record has the state of one that has not begun.
  const CpuState& StateOf(std::int32_t cpu) const {
    static const CpuState kNone;
    const CpuState* const state = FindCpu(cpu);
    return state == nullptr ? kNone : *state;
  }
  // The shape of the dumps, if event sets are multiplexed.
  EventSetDumps& dumps() { return dumps_; }
  const EventSetDumps& dumps() const { return dumps_; }
  // The thread on `cpu`; null if it is idle or its thread is not counted.
  ThreadState* Running(std::int32_t cpu) const {
    const CpuState* const state = FindCpu(cpu);
    return state == nullptr ? nullptr : state->thread();
  }
  // A record on `cpu` names the thread that runs there.
  void SeeOn(std::int32_t cpu, std::int32_t tid) {
    CpuState* const state = FindCpu(cpu);
    if (state != nullptr && state->unconfirmed.any) [[unlikely]]
      SeeUnconfirmed(*state, tid);
  }
  const BlockedTime& blocked() const { return blocked_; }
  // A thread left its CPU because a quota was used up.
  bool saw_throttled() const { return saw_throttled_; }
  const QueueTime& queues() const { return queues_; }
  // Intervals that are unattributed because a dispatch record contradicts the
  // one before it, although no loss was reported.
  std::uint64_t contradictions() const { return contradictions_; }
  // Intervals in which a counter went back or the MMCR changed.
  const CounterDoubts& doubts() const { return doubts_; }
  std::uint64_t malformed() const { return malformed_; }

 private:
  // Null: there is no such CPU.
  CpuState* Cpu(std::int32_t cpu) {
    CpuState* const state = FindCpu(cpu);
    return state != nullptr ? state : AddCpu(cpu);
  }
  CpuState* AddCpu(std::int32_t cpu);
  // Null: no record of it came yet.
  CpuState* FindCpu(std::int32_t cpu) const {
    // A negative number is larger than any CPU's.
    const auto index = static_cast<std::uint32_t>(cpu);
    return index < by_cpu_.size() ? by_cpu_[index] : nullptr;
  }
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
  void SeeUnconfirmed(CpuState& cpu, std::int32_t tid);
  bool IsOccupant(CpuState& cpu, std::int32_t tid);
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
  void NoteWentBack(const CpuState& cpu, const MeasureSet& events,
                    const AttributedInterval& last);
  void Occupy(CpuState& cpu, std::int32_t tid, std::uint64_t time_ns,
              bool inferred, bool any_cpu = false);
  // Ends open interrupts. `switches`: a switch shows that they are over, so
  // that their exits are missing.
  void CloseInterrupts(CpuState& cpu, std::uint64_t time_ns, bool switches);
  void AttributePart(CpuState& cpu, const logformat::EventRecord& record,
                     std::uint64_t time_ns);
  // `any_cpu`: it might run on every recorded one.
  void SwitchIn(ThreadState& thread, std::int32_t cpu, std::uint64_t time_ns,
                bool any_cpu = false);
  // What woke the thread, as far as the trace shows.
  Waker WakerOf(const logformat::EventRecord& record, std::int32_t waker_tid,
                std::int32_t wakee_tid) const;
  // Requires: `thread` has waited since before `time_ns`.
  void EndWait(ThreadState& thread, std::uint64_t time_ns,
               bool any_cpu = false);
  // `state`: with the flags of a dispatch record.
  void SwitchOut(ThreadState& thread, std::int32_t cpu, std::uint64_t time_ns,
                 std::uint16_t state);
  // The switch at `time_ns` was computed.
  void InferSwitch(ThreadState& thread, std::uint64_t time_ns);
  // Reports the dispatch up to `end_ns` to the observer.
  void EmitDispatch(const CpuState& cpu, std::uint64_t end_ns,
                    std::uint16_t state, bool inferred);
  void EmitCounters(CpuState& cpu, const logformat::EventRecord& record,
                    std::uint64_t time_ns);
  // Nothing more is attributed on `cpu`, unless it comes back.
  void EndCpu(CpuState& cpu, std::uint64_t time_ns);
  // Its dump by measure: EventSetDumps::Spread() had it last, if sets rotate.
  MeasuredDump Measured(const logformat::EventRecord& record) const {
    return {record, dumps_.rotates() ? &dumps_.present() : nullptr};
  }
  void CountUnlessPaused(std::uint64_t& sum) const {
    sum += coverage_.paused ? 0 : 1;
  }
  void SkipSwitch(CpuState& cpu) const {
    if (switches_ < events_ && cpu.counters.counted.Has(switches_)) {
      rmap::SkipSwitch(cpu, switches_);
    }
  }
  // --- range_edges.cc --------------------------------------------------------
  // If its occupant turns out to be another one, that was so since the range of
  // the tables began.
  bool IsUnknownSinceBegin(const CpuState& cpu) const {
    return coverage_.range_begin_ns != 0 &&
           (cpu.lost() || cpu.hidden() ? cpu.since_ns()
            : cpu.unconfirmed.any      ? cpu.unconfirmed.begin_ns
                                  : cpu.last_ns) == coverage_.range_begin_ns;
  }
  // Its present dispatch may have begun before the range.
  static void DoubtBegin(ThreadState& thread) {
    thread.dispatch.begin_unsure = thread.dispatch.last_cpu_unsure = true;
  }
  // --- unconfirmed_time.cc ---------------------------------------------------
  // The interval that ends now ends without a record that names the occupant.
  void BeginUnconfirmed(CpuState& cpu);
  void NoteUnconfirmed(CpuState& cpu, AttributedInterval& attributed) const;
  // A record names the occupant.
  void ConfirmOccupant(CpuState& cpu) {
    if (cpu.unconfirmed.any) [[unlikely]]
      ConfirmUnconfirmed(cpu);
  }
  void ConfirmUnconfirmed(CpuState& cpu);
  // A record names another thread: returns the time of the last one that names
  // the occupant. What it got since then is unattributed.
  std::uint64_t TakeBack(CpuState& cpu);
  // --- hidden_switches.cc ----------------------------------------------------
  // Records of other CPUs name the occupant of `cpu`.
  static bool RunsElsewhere(const CpuState& cpu) {
    return cpu.thread() != nullptr && cpu.thread()->dispatch.running_cpu >= 0 &&
           !cpu.RunsHere();
  }
  // `thread`, which goes to `cpu`, was the occupant of another one: that one is
  // in left_.
  void LeaveOther(ThreadState& thread, std::int32_t cpu, std::uint64_t time_ns);
  // The switches that `record`, a dump of `cpu`, has counted since the last one
  // and no record shows: others had the CPU meanwhile, though its occupant may
  // have it again. A CPU that is outside has no records of the others'
  // switches. 0, too, if the trace has no such counter.
  std::uint64_t UnseenSwitches(const CpuState& cpu,
                               const logformat::EventRecord& record) const {
    const CpuCounters& counters = cpu.counters;
    if (switches_ >= events_ || record.counters == nullptr || cpu.lost() ||
        cpu.is_outside()) {
      return 0;
    }
    // An event that counts with every set: in the first bits.
    if ((record.present >> switches_ & 1u) == 0 ||
        counters.stale.Has(switches_)) {
      return 0;
    }
    const std::uint64_t value = record.counters[switches_];
    std::uint64_t shown = 0;
    if (counters.counted.Has(switches_)) {
      shown = counters.last[switches_] + (counters.at_switch ? 1 : 0);
    } else if (counters.cut && counters.before_present.Has(switches_)) {
      shown = counters.before[switches_] + counters.switches_before;
    } else {
      return 0;
    }
    return value > shown ? SwitchesBeyond(cpu, value - shown) : 0;
  }
  std::uint64_t SwitchesBeyond(const CpuState& cpu, std::uint64_t count) const;
  // The same, where the record does not say who has `cpu` now.
  void NoteHidden(CpuState& cpu, const logformat::EventRecord& record) {
    const std::uint64_t unseen = UnseenSwitches(cpu, record);
    if (unseen == 0) return;
    if (!cpu.hidden()) Contradict(cpu);
    cpu.hidden_switches += unseen;
  }
  // The occupants of CPUs in left_ have left them unseen.
  void ContradictLeft();
  // Drops the occupant's dispatch, whose end contradicts the records. Without a
  // counted loss only its own switch-out is missing, so only it is concerned.
  void Contradict(CpuState& cpu);
  // A record shows who has `cpu` now; before it, the occupant is unknown.
  // Hide() must follow, unless records were lost.
  void Abandon(CpuState& cpu, std::uint64_t time_ns);
  // `thread`, which has ended, may have had `ns` of the hidden interval.
  static void HideDead(CpuState& cpu, ThreadState& thread, std::uint64_t ns);
  // No record will show it.
  void EndContradiction(CpuState& cpu, std::uint64_t time_ns);
  // Any thread may have had `cpu` from hidden_since_ns to `time_ns`.
  void Hide(CpuState& cpu, std::uint64_t time_ns);
  // --- earlier_records.cc ----------------------------------------------------
  void BeginInside(CpuState& cpu, std::uint64_t time_ns);
  // --- lost_records.cc -------------------------------------------------------
  // Forks may be lost from `since_ns` on.
  void NoteLoss(std::uint64_t since_ns);
  // `now_ns`: when it is noticed.
  void BeginLoss(CpuState& cpu, std::uint64_t begin_ns, std::uint64_t now_ns);
  void EndLoss(CpuState& cpu, std::uint64_t end_ns);
  // No record ends what `cpu` did after its last one.
  void FinishCut(CpuState& cpu, std::uint64_t end_ns);
  void See(ThreadState& thread, std::uint64_t time_ns) {
    if (!unseen_.none()) unseen_.See(thread, time_ns);
  }
  // `thread` runs, and no dispatch record shows where.
  void SeeUnknown(ThreadState& thread, std::uint64_t time_ns);
  // Takes CpuCounters::unknown of an interval that began at `since_ns`.
  void TakeUnknown(CpuState& cpu, std::uint64_t since_ns);
  void AddUnknown(const CpuState& cpu, std::uint64_t since_ns,
                  const std::vector<std::uint64_t>& counts);
  void NoteOutside(CpuState& cpu, std::uint64_t time_ns);

  const logformat::TraceInfo& info_;
  EventSetDumps dumps_;
  std::size_t events_;
  std::vector<CounterKind> kinds_;  // one for each measure
  // The event that counts every switch; events_: none does.
  std::size_t switches_;
  ThreadRegistry& registry_;
  TimelineObserver* observer_;
  KernelCoverage coverage_;
  std::uint64_t begin_of_trace_ns_;
  bool begun_inside_ = false;  // earlier records were overwritten
  bool lost_behind_ = false;   // see LoseBehind()
  bool saw_throttled_ = false;
  bool interrupts_recorded_;
  BlockedTime blocked_;
  QueueTime queues_;
  UnseenTime unseen_;
  std::uint64_t cut_ns_ = 0;
  std::uint32_t outside_unknown_ = 0;  // CPUs with that flag
  std::deque<CpuState> cpus_;          // ascending by cpu
  std::vector<CpuState*> by_cpu_;
  struct Left {
    CpuState* cpu;
    std::uint64_t clock_ns;  // its thread's hooks have read: not yet booked
  };
  std::vector<Left> left_;  // see LeaveOther(), at left_ns_
  std::uint64_t left_ns_ = 0;
  std::uint64_t contradictions_ = 0, malformed_ = 0;
  CounterDoubts doubts_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_DISPATCH_DISPATCH_TRACKER_H_
