// Routes each item of a trace to the state machine for it: Reconstruct() of
// pipeline.h. More than 400 lines, because the routes of one class are inlined
// into its loop; what they lead to has files of its own.
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "logformat/description/recorded_part.h"
#include "rmap/counters/counter_extension.h"
#include "rmap/dispatch/dispatch_tracker.h"
#include "rmap/dispatch/kernel_layout.h"
#include "rmap/findings.h"
#include "rmap/kept_time.h"
#include "rmap/levels/levels.h"
#include "rmap/pipeline.h"
#include "rmap/range_observer.h"
#include "rmap/report_header.h"
#include "rmap/samples/sums/sample_sums.h"
#include "rmap/samples/sums/sampled_processes.h"
#include "rmap/segments/kernel_hooks.h"
#include "rmap/segments/segment_builder.h"
#include "rmap/state/call_paths.h"
#include "rmap/state/thread_registry.h"
#include "rmap/tables/input/loss_ledger.h"
#include "rmap/tables/rows/table_builder.h"
#include "rmap/task_records.h"
#include "rmap/values/call_values.h"
#include "rmap/window.h"

namespace countrace::rmap {

namespace {

using logformat::CountersReason;
using logformat::CpuEvent;
using logformat::DiscardedEvents;
using logformat::DiscardedPackets;
using logformat::EventRecord;
using logformat::HookKind;
using logformat::HookOrigin;
using logformat::StreamClass;

class Reconstruction final : public logformat::ItemSink {
 public:
  // `records_stay`: the memory of records stays valid until Finish().
  // `complete_from_ns`: see Window. All times but those of records are on the
  // clock of `kept`.
  Reconstruction(const logformat::TraceInfo& info,
                 const PipelineOptions& options, bool records_stay,
                 std::uint64_t complete_from_ns, const KeptTime& kept,
                 RangeObserver* cuts)
      : info_(info),
        kept_(kept),
        cuts_(cuts),
        levels_(Levels::Of(info, registry_, options.observer)),
        observer_(levels_ != nullptr ? levels_.get() : options.observer),
        takes_runs_(observer_ == nullptr || observer_->TakesThreadRuns()),
        rows_(options.rows),
        records_stay_(records_stay),
        window_(info, options.range, complete_from_ns),
        hooks_(info),
        thread_dumps_(info.thread_sets()),
        thread_counters_(info.thread_counter_limits, ThreadEvents(info),
                         thread_dumps_.rotating()),
        paths_(ThreadEvents(info) + hooks_.kernel_events()),
        registry_(
            paths_,
            std::min(EventSetDumps(info.cpu_sets()).measures(), kMaxMeasures),
            Gate(info, options.gating), observer_),
        dispatches_(info, registry_, observer_, rows_),
        cpu_counters_(info.cpu_counter_limits, dispatches_.dumps().measures(),
                      dispatches_.dumps().rotating()),
        segments_(paths_, dispatches_.coverage(), ThreadEvents(info),
                  dumps_stay(), hooks_.kernel_events(), hooks_.origins(),
                  hooks_.jumps(), hooks_.kernel_fault(),
                  {static_cast<std::uint32_t>(thread_dumps_.rotating().word(0)),
                   static_cast<std::uint32_t>(std::max<std::size_t>(
                       2 * thread_dumps_.sets().sizes.size(), 1)),
                   dispatches_.dumps().rotating(),
                   dispatches_.dumps().running_places()},
                  observer_),
        samples_(options.rows.samples ? std::make_unique<SampleSums>(
                                            info, options.most_timed_samples,
                                            options.data, options.on_sample)
                                      : nullptr),
        values_(MakeValues(info, options.rows.value, levels_.get())),
        kernel_hooks_(hooks_, registry_, dispatches_, segments_, observer_,
                      samples_.get(), values_.get()),
        tasks_(registry_, dispatches_, segments_, hooks_) {
    // A flight recording may have overwritten where that began.
    calls_left_out_ =
        complete_from_ns != 0 &&
        std::ranges::any_of(info.not_recorded, [](const auto& what) {
          return what.cause == logformat::kLeftOut;
        });
    if (info.scope == logformat::SessionScope::kCommand && info.root_pid > 0) {
      registry_.Announce({info.root_pid, info.root_pid}, info.begin_ns);
    }
  }

  // What has to read the trace before this; null: nothing.
  logformat::ItemSink* ahead() {
    return values_ == nullptr ? nullptr : values_->exits();
  }

  // Only some observers and the edges of a range need the records of concurrent
  // threads in one order.
  bool TakesThreadRuns() const override {
    return takes_runs_ && !window_.of_range() && !kept_.any() &&
           !values_of_programs();
  }

  void OnRecord(const EventRecord& record) override {
    const std::uint64_t kept_ns = kept_.At(record.time_ns);
    if (kept_.any()) PassPauses(record.time_ns);
    if (!window_.Holds(kept_ns) && !IsInside(record, kept_ns)) [[unlikely]]
      return;
    CountRecord();
    const bool of_thread = record.stream_class == StreamClass::kThread;
    if (!of_thread && IsDefinition(record)) [[unlikely]] {
      if (samples_ != nullptr) samples_->Define(record);
      return;
    }
    const std::uint64_t time_ns =
        Advance(kept_ns, takes_runs_ ? kernel_ns_ : now_ns_);
    if (of_thread) [[likely]] {
      if (special_thread_dumps_ && record.counters != nullptr) [[unlikely]] {
        OnSpecialHookDump(record, time_ns);
      } else {
        OnHookRecord(record, time_ns);
      }
      return;
    }
    kernel_ns_ = time_ns;
    if (special_cpu_dumps_ && record.counters != nullptr) {
      OnKernelRecord(Measured(record, time_ns), time_ns);
    } else {
      OnKernelRecord(record, time_ns);
    }
  }

  void OnThreadRecords(
      const EventRecord& head,
      std::span<const logformat::ThreadRecord> records) override {
    const std::uint64_t begin_ns = records.front().time_ns;
    const std::uint64_t end_ns = records.back().time_ns;
    if (!dumps_stay() || !takes_runs_ || kept_.any() || values_of_programs() ||
        begin_ns < kernel_ns_ || !window_.Holds(end_ns) ||
        !OnRun(head, records, begin_ns, end_ns)) {
      ItemSink::OnThreadRecords(head, records);
    }
  }

  void OnDiscardedEvents(const DiscardedEvents& lost) override {
    const auto most = std::ranges::max_element(lost.by_cause);
    const std::string_view cause =
        *most == 0
            ? "unknown"
            : logformat::kDiscardCauseNames[most - lost.by_cause.begin()];
    if (OnLoss({lost.stream_class, lost.cpu, lost.pid, lost.tid, lost.begin_ns,
                lost.end_ns, lost.count, lost.count, cause,
                lost.overwritten}) &&
        !IsLeftOut(kept_.At(lost.begin_ns), kept_.At(lost.end_ns))) {
      ledger_.Add(lost);
    }
  }

  void OnDiscardedPackets(const DiscardedPackets& lost) override {
    if (OnLoss({lost.stream_class, lost.cpu, lost.pid, lost.tid, lost.begin_ns,
                lost.end_ns, 0, Bounds::kNone, "discarded_packets", false}) &&
        !IsLeftOut(kept_.At(lost.begin_ns), kept_.At(lost.end_ns))) {
      ledger_.Add(lost);
    }
  }

  // Requires: the last item was delivered, or `interrupted`.
  Report Finish(const logformat::TraceReader& reader, bool interrupted);
  // The time of the last record of a trace with pauses, not on their clock.
  std::uint64_t last_ns() const { return last_ns_; }
  absl::Status status() const {
    return samples_ == nullptr ? absl::OkStatus() : samples_->status();
  }

 private:
  bool IsDefinition(const EventRecord& record) const {
    return logformat::IsKernelHookEvent(record.event_id) &&
           hooks_.DefinesSamples(logformat::EventHookId(record.event_id));
  }
  static std::size_t ThreadEvents(const logformat::TraceInfo& info) {
    return std::min(info.thread_events.size(), logformat::kMaxCounters);
  }

  // Time never goes back: an earlier record gets the latest time before it. A
  // thread's record is compared with the last kernel record only, since threads
  // may be read one after the other (TakesThreadRuns()).
  std::uint64_t Advance(std::uint64_t time_ns, std::uint64_t floor_ns) {
    if (time_ns < floor_ns) [[unlikely]] {
      ledger_.AddClockError();
      return floor_ns;
    }
    first_ns_ = std::min(first_ns_, time_ns);
    now_ns_ = std::max(now_ns_, time_ns);
    return time_ns;
  }

  // --- Hot path --------------------------------------------------------------

  // True if ThreadOf() would find the same thread.
  bool IsKnown(const EventRecord& record) const {
    if (record.stream >= by_stream_.size()) return false;
    const StreamThread& cached = by_stream_[record.stream];
    return cached.thread != nullptr && cached.tid == record.tid &&
           cached.pid == record.pid && !cached.thread->exited &&
           !cached.thread->retired;
  }

  ThreadState& ThreadOf(const EventRecord& record, std::uint64_t time_ns) {
    if (IsKnown(record)) [[likely]]
      return *by_stream_[record.stream].thread;
    if (record.stream >= by_stream_.size()) [[unlikely]] {
      by_stream_.resize(record.stream + std::size_t{1});
    }
    ThreadState& thread = registry_.ObserveByHooks(
        {std::max(record.pid, 0), record.tid}, time_ns);
    by_stream_[record.stream] = {record.pid, record.tid, &thread};
    return thread;
  }

  void OnHookRecord(const EventRecord& record, std::uint64_t time_ns) {
    ThreadState& thread = ThreadOf(record, time_ns);
    if (time_ns < thread.hooks.last_ns) [[unlikely]] {
      ledger_.AddClockError();
      time_ns = thread.hooks.last_ns;
    }
    const std::uint32_t hook_id = logformat::EventHookId(record.event_id);
    if (levels_ != nullptr)
      levels_->OnRecord(record, thread, time_ns, paused());
    if (!thread.process->counted) [[unlikely]]
      return;
    if (!paused())
      thread.process->hits.Add(hook_id, record.counters != nullptr);
    const std::uint32_t value =
        values_of_programs() ? TakeValue(thread, record, hook_id) : 0;
    dispatches_.SeeRunning(thread, time_ns);
    // A hook of a program cannot run inside a system call: the call is over.
    if (hooks_.has_kernel_hooks()) [[unlikely]] {
      segments_.EndKernelDoubt(thread, time_ns);
      segments_.LeaveKernel(thread, time_ns);
    }
    if (record.event_id & logformat::kEventExitBit) {
      segments_.Exit(thread, hook_id, DumpOf(record), time_ns);
    } else if (hooks_.kind(hook_id) == HookKind::kSegment) {
      segments_.Enter(thread, hook_id, DumpOf(record), time_ns, value);
    } else {
      if (hooks_.jumps().Have(hook_id)) segments_.Jump(thread, record, time_ns);
      if (observer_ != nullptr) {
        observer_->OnHook({thread.index, hook_id, time_ns, &record});
      }
    }
    ThreadRegistry::See(thread, time_ns);
    SegmentBuilder::NoteHook(thread, time_ns);
  }

  static std::unique_ptr<CallValues> MakeValues(
      const logformat::TraceInfo& info, const std::string& name,
      const Levels* levels) {
    auto values = std::make_unique<CallValues>(info, name, levels);
    if (!values->any()) values.reset();
    return values;
  }
  bool values_of_programs() const {
    return values_ != nullptr && values_->of_programs();
  }
  // The value of a record of a program's hook.
  std::uint32_t TakeValue(const ThreadState& thread, const EventRecord& record,
                          std::uint32_t hook_id) {
    std::uint32_t value = ValueTable::kNone;
    if ((record.event_id & logformat::kEventExitBit) == 0) {
      value = values_->Enter(record, hook_id,
                             {thread.process->pid, thread.tid, &thread});
    } else if (const Frame* const call = thread.stack.Find(hook_id)) {
      value = call->node->value;
    }
    if (!paused()) values_->CountHit(hook_id, value, *thread.process);
    return value;
  }

  // Returns false if the records must be processed one by one.
  bool OnRun(const EventRecord& head,
             std::span<const logformat::ThreadRecord> records,
             std::uint64_t begin_ns, std::uint64_t end_ns) {
    ThreadState& thread = ThreadOf(head, begin_ns);
    if (begin_ns < thread.hooks.last_ns || dispatches_.MayBeUnseen(thread))
        [[unlikely]]
      return false;
    records_ += records.size();
    first_ns_ = std::min(first_ns_, begin_ns);
    now_ns_ = std::max(now_ns_, end_ns);
    if (!thread.process->counted) [[unlikely]]
      return true;
    dispatches_.SeeRunning(thread, begin_ns);
    // A hook of a program cannot run inside a system call: the call is over.
    if (hooks_.has_kernel_hooks()) [[unlikely]] {
      segments_.EndKernelDoubt(thread, begin_ns);
      segments_.LeaveKernel(thread, begin_ns);
    }
    thread.process->hits.Add(records);
    segments_.Run(thread, NowOf(thread, dispatches_.coverage()), records,
                  hooks_.kinds());
    ThreadRegistry::See(thread, end_ns);
    SegmentBuilder::NoteHook(thread, end_ns);
    return true;
  }

  // --- Dumps of event sets, and of counters that wrap ------------------------

  void OnSpecialHookDump(const EventRecord& record, std::uint64_t time_ns) {
    EventRecord dump =
        thread_dumps_.rotates() ? thread_dumps_.Spread(record) : record;
    if (thread_counters_.active()) {
      // What perf multiplexed is in the upper half.
      const MeasureSet present(dump.present & 0xffffu);
      // A counter wraps in a pause, too.
      const bool sure = time_ns == kept_.At(record.time_ns);
      dump = thread_counters_.Extend(dump, present,
                                     sure ? record.time_ns : time_ns, sure);
      if (!thread_counters_.doubted().empty()) [[unlikely]] {
        const auto doubted =
            static_cast<std::uint32_t>(thread_counters_.doubted().word(0));
        ThreadOf(record, time_ns).stack.Doubt(doubted, /*kernel=*/{});
      }
    }
    OnHookRecord(dump, time_ns);
  }

  // The dump of a CPU as its measures.
  EventRecord Measured(const EventRecord& record, std::uint64_t time_ns) {
    if (record.counters == nullptr) return record;
    EventSetDumps& dumps = dispatches_.dumps();
    EventRecord dump = dumps.rotates() ? dumps.Spread(record) : record;
    if (cpu_counters_.active()) {
      if (IsBegin(record)) cpu_counters_.Restart(record.cpu);
      const bool sure = time_ns == kept_.At(record.time_ns);
      dump = cpu_counters_.Extend(dump, dumps.PresentIn(dump),
                                  sure ? record.time_ns : time_ns, sure);
      if (!cpu_counters_.doubted().empty()) [[unlikely]] {
        dispatches_.OnDoubt(record.cpu, cpu_counters_.doubted());
      }
    }
    return dump;
  }

  // --- The edges of the tables (window.h, earlier_records.cc) ---------------

  // Passes the begins that an item at `time_ns` lies behind. Returns where it
  // lies.
  Window::Step Enter(std::uint64_t time_ns, bool may_precede);
  // True if `record`, which an edge is near, is in the tables.
  bool IsInside(const EventRecord& record, std::uint64_t kept_ns);
  // Begins and ends the pauses up to a real time.
  void PassPauses(std::uint64_t time_ns);
  void LeaveOutOfPause();
  bool paused() const { return dispatches_.coverage().paused; }
  // A loss that a pause holds, which began in this one.
  bool IsLeftOut(std::uint64_t begin_ns, std::uint64_t end_ns) const {
    return paused() && begin_ns == end_ns;
  }
  void CountRecord() { records_ += paused() ? 0 : 1; }
  void BeginTables();
  // The tables' range begins: what was counted so far is dropped.
  void BeginRange();
  // Returns true if `record` is of the tables, though it comes behind them: a
  // snapshot's end at the recorder's dumps, on each CPU at its own, and hooks
  // before them all.
  bool OnBehind(const EventRecord& record);
  // Outside of the tables, the records of forks, names and ends alone count.
  void OnTask(const EventRecord& record, std::uint64_t time_ns);

  // --- Kernel records and loss -----------------------------------------------

  void OnKernelRecord(const EventRecord& record, std::uint64_t time_ns);
  void CloseSegmentsOfEnded();

  // --- Calls that were left out (FORMAT.md 4.3) ------------------------------

  // Absent: `record` does not say whether they are.
  static std::optional<bool> CallsLeftOutAt(const EventRecord& record);
  // The tables begin, or the records change, from `time_ns` on.
  void SetCallsLeftOut(bool left_out, std::uint64_t time_ns);
  void EndCallsLeftOut(std::uint64_t time_ns);
  void DoubtCallsOf(ThreadState& thread, std::uint64_t time_ns);

  // What was lost of a stream, by DiscardedEvents or DiscardedPackets.
  struct Loss {
    StreamClass stream_class;
    std::int32_t cpu, pid, tid;
    std::uint64_t begin_ns, end_ns;
    std::uint64_t count;    // for the observer, 0 if unknown
    std::uint64_t records;  // for bounds, then Bounds::kNone
    std::string_view cause;
    bool overwritten;
  };
  // Returns false if it lies behind the tables' range.
  bool OnLoss(Loss loss);
  void Lose(const Loss& loss);

  static constexpr std::uint64_t kNever = Window::kNever;
  struct StreamThread {
    std::int32_t pid = -1, tid = -1;
    ThreadState* thread = nullptr;
  };

  const logformat::TraceInfo& info_;
  const KeptTime& kept_;
  RangeObserver* const cuts_;  // is observer_; null: no pause, or no observer
  std::size_t next_edge_ = 0;  // of kept_
  std::uint64_t last_ns_ = 0;  // see last_ns()
  // Counters of threads can be used where they lie in memory.
  bool dumps_stay() const {
    return records_stay_ && !thread_dumps_.rotates() &&
           !thread_counters_.active();
  }

  const std::unique_ptr<Levels> levels_;  // null: the trace has none
  TimelineObserver* observer_;
  const bool takes_runs_;
  const WantedRows rows_;
  const bool records_stay_;
  Window window_;
  std::vector<Loss> losses_at_begin_;  // they go on then
  HookTable hooks_;
  EventSetDumps thread_dumps_;
  CounterExtension thread_counters_;
  CallPaths paths_;
  ThreadRegistry registry_;
  DispatchTracker dispatches_;
  CounterExtension cpu_counters_;
  // Dumps are not just one value for each event.
  bool special_thread_dumps_ =
      thread_dumps_.rotates() || thread_counters_.active();
  bool special_cpu_dumps_ =
      dispatches_.dumps().rotates() || cpu_counters_.active();
  SegmentBuilder segments_;
  std::unique_ptr<SampleSums> samples_;  // null: no table of them
  std::unique_ptr<CallValues> values_;   // null: no call has one
  KernelHooks kernel_hooks_;
  TaskRecords tasks_;
  LossLedger ledger_;
  std::vector<StreamThread> by_stream_;
  std::uint64_t records_ = 0, malformed_ = 0;
  std::uint64_t first_ns_ = kNever, now_ns_ = 0;
  std::uint64_t kernel_ns_ = 0;      // time of the last kernel record
  std::uint64_t lost_until_ns_ = 0;  // the latest end of a loss
  bool calls_left_out_ = false;
  std::uint64_t calls_left_out_ns_ = 0;  // since when
  bool unplaced_loss_ = false;  // hook records of an unknown process were lost
};

Window::Step Reconstruction::Enter(std::uint64_t time_ns, bool may_precede) {
  Window::Step step = window_.Next(time_ns, may_precede);
  for (; step == Window::Step::kBegin || step == Window::Step::kBeginRange;
       step = window_.Next(time_ns, may_precede)) {
    step == Window::Step::kBegin ? BeginTables() : BeginRange();
  }
  return step;
}

void Reconstruction::PassPauses(std::uint64_t time_ns) {
  last_ns_ = std::max(last_ns_, time_ns);
  for (; next_edge_ < kept_.edges(); ++next_edge_) {
    const std::uint64_t edge_ns = kept_.Edge(next_edge_);
    if (edge_ns > time_ns) return;
    const std::uint64_t kept_ns = kept_.At(edge_ns);
    // What comes behind the tables ends what they have.
    const Window::Step step = Enter(kept_ns, /*may_precede=*/true);
    if (step == Window::Step::kBehind && window_.ends_in_range()) return;
    const bool begins = next_edge_ % 2 == 0;
    if (begins) {
      for (const ThreadState& thread : registry_.threads()) {
        segments_.BeginPause(thread, kept_ns);
      }
    }
    dispatches_.SetPaused(begins);
    if (cuts_ != nullptr) cuts_->SetPaused(begins, kept_ns);
    if (begins) continue;
    for (ThreadState& thread : registry_.threads()) {
      segments_.EndPause(thread, kept_ns);
      // It was there in a pause alone.
      thread.ended_before |= thread.retired && thread.first_seen_ns >= kept_ns;
    }
    for (const CpuState& cpu : dispatches_.cpus()) {
      segments_.EndPause(
          *dispatches_.InterruptWork(static_cast<std::int32_t>(cpu.cpu)),
          kept_ns);
    }
  }
}

bool Reconstruction::IsInside(const EventRecord& record,
                              std::uint64_t kept_ns) {
  const bool of_thread = record.stream_class == StreamClass::kThread;
  const Window::Step step = Enter(kept_ns, of_thread);
  if (step == Window::Step::kInside || (!of_thread && IsDefinition(record))) {
    return true;
  }
  if (step == Window::Step::kBehind) {
    if (OnBehind(record)) return true;
    if (window_.ends_in_range()) return false;
  } else if (!of_thread) {
    // It names threads at most.
    const bool hook = logformat::IsKernelHookEvent(record.event_id);
    calls_left_out_ = CallsLeftOutAt(record).value_or(calls_left_out_);
    dispatches_.OnEarlier(
        Measured(record, kept_ns),
        hook && hooks_.origins()[logformat::EventHookId(record.event_id)] ==
                    HookOrigin::kInterrupt);
    OnTask(record, kept_ns);
  }
  CountRecord();
  return false;
}

void Reconstruction::OnTask(const EventRecord& record, std::uint64_t time_ns) {
  switch (static_cast<CpuEvent>(record.event_id)) {
    case CpuEvent::kFork:
    case CpuEvent::kExec:
    case CpuEvent::kComm:
    case CpuEvent::kExit:
    case CpuEvent::kProcessState:
    case CpuEvent::kOwner:
      if (!tasks_.OnRecord(record, time_ns)) ++malformed_;
      return;
    default:
      return;
  }
}

void Reconstruction::BeginRange() {
  const std::uint64_t begin_ns = window_.begin_ns();
  // No record, and so no interval, begins before that.
  kernel_ns_ = std::max(kernel_ns_, begin_ns);
  now_ns_ = std::max(now_ns_, begin_ns);
  registry_.BeginRange(begin_ns);
  dispatches_.BeginRange(begin_ns);
  for (ThreadState& thread : registry_.threads()) segments_.BeginRange(thread);
  for (const CpuState& cpu : dispatches_.cpus()) {
    segments_.BeginRange(
        *dispatches_.InterruptWork(static_cast<std::int32_t>(cpu.cpu)));
  }
  segments_.ForgetSums();
  paths_.ForgetSums();
  cpu_counters_.ForgetDoubts();
  thread_counters_.ForgetDoubts();
  ledger_ = LossLedger();
  if (levels_ != nullptr) levels_->Begin(begin_ns, /*lost=*/false);
  if (samples_ != nullptr) samples_->Drop();
  records_ = malformed_ = 0;
  SetCallsLeftOut(calls_left_out_, begin_ns);
}

bool Reconstruction::OnBehind(const EventRecord& record) {
  const bool ends_in_range = window_.ends_in_range();
  const std::uint64_t until_ns = window_.until_ns();
  if (record.stream_class == StreamClass::kThread) {
    // Its calls go on until the end of the range.
    if (ends_in_range && IsKnown(record)) {
      ThreadRegistry::See(*by_stream_[record.stream].thread, until_ns);
    }
    return false;
  }
  if (!ends_in_range && !dispatches_.StateOf(record.cpu).ended()) return true;
  const auto event = static_cast<CpuEvent>(record.event_id);
  if (event == CpuEvent::kProcessState) {
    // It says who a thread in the tables is.
    if (logformat::StateRecord state; !Decode(record, state)) {
      ++malformed_;
    } else if (registry_.Find(state.tid) != nullptr) {
      tasks_.OnRecord(record, now_ns_);
    }
  } else if (ends_in_range) {
    dispatches_.SettleBehind(record);
    if (!dispatches_.StateOf(record.cpu).open()) return false;
    if (const auto tid = DispatchTracker::OccupantBefore(record)) {
      dispatches_.EndRange(Measured(record, kept_.At(record.time_ns)), *tid,
                           until_ns);
      // What a CPU did that comes back is not recorded.
      if (IsBegin(record)) return false;
      kernel_hooks_.EndInterrupts(record.cpu, until_ns, /*own=*/false);
    }
  } else if (event == CpuEvent::kOwner || dispatches_.AnyOpen()) {
    // A CPU whose tables go on may still show what begins or ends here.
    OnTask(record, now_ns_);
  }
  return false;
}

void Reconstruction::BeginTables() {
  registry_.BeginTables(window_.begin_ns());
  dispatches_.BeginTables(window_.begin_ns());
  if (levels_ != nullptr) levels_->Begin(window_.begin_ns(), /*lost=*/true);
  SetCallsLeftOut(calls_left_out_, window_.begin_ns());
  for (const Loss& loss : losses_at_begin_) Lose(loss);
}

bool Reconstruction::OnLoss(Loss loss) {
  if (kept_.any()) PassPauses(loss.begin_ns);
  loss.begin_ns = kept_.At(loss.begin_ns);
  loss.end_ns = kept_.At(loss.end_ns);
  const Window::Step step = Enter(loss.begin_ns, /*may_precede=*/true);
  const bool of_cpu = loss.stream_class == StreamClass::kCpu;
  if (step == Window::Step::kBehind && window_.ends_in_range()) {
    if (of_cpu) dispatches_.LoseBehind(window_.until_ns());
    return false;
  }
  if (loss.records == 0) return true;
  if (step == Window::Step::kEarlier) {
    if (of_cpu) dispatches_.OnEarlierLoss(loss.cpu);
    // One that lasts until the tables begins with them.
    if (!loss.overwritten && loss.end_ns > window_.begin_ns()) {
      loss.begin_ns = window_.begin_ns();
      losses_at_begin_.push_back(loss);
    }
  } else if (step == Window::Step::kInside ||
             (of_cpu && !dispatches_.StateOf(loss.cpu).ended())) {
    Lose(loss);
  }
  return true;
}

void Reconstruction::Lose(const Loss& loss) {
  ThreadState* thread = nullptr;
  lost_until_ns_ = std::max(lost_until_ns_, loss.end_ns);
  const bool of_cpu = loss.stream_class == StreamClass::kCpu;
  if (of_cpu) {
    dispatches_.OnLoss(loss.cpu, loss.begin_ns, loss.records);
    const bool left_out = IsLeftOut(loss.begin_ns, loss.end_ns);
    if (samples_ != nullptr && !left_out) samples_->OnLoss(loss.records);
    if (values_ != nullptr && !left_out) values_->OnLoss();
    kernel_hooks_.EndInterrupts(loss.cpu, dispatches_.StateOf(loss.cpu).seen_ns,
                                false);
    if (hooks_.has_probes()) registry_.LoseAllHooks(loss.begin_ns);
  } else {
    unplaced_loss_ |= !registry_.LoseHooks(loss.pid, loss.begin_ns, loss.end_ns,
                                           loss.records);
    // It creates no rows: the time of a loss is rough, so the tid may not be
    // this thread's yet.
    thread = registry_.Find(loss.tid);
    if (thread != nullptr && thread->process != nullptr &&
        thread->process->pid != loss.pid) {
      thread = nullptr;
    }
  }
  if (thread != nullptr) {
    thread->hooks_lost = true;
    SegmentBuilder::OnLoss(*thread);
  }
  if (observer_ != nullptr) {
    observer_->OnLoss({of_cpu ? loss.cpu : -1,
                       thread == nullptr ? kNoThread : thread->index,
                       loss.begin_ns, loss.end_ns, loss.count, loss.cause});
  }
}

void Reconstruction::OnKernelRecord(const EventRecord& record,
                                    std::uint64_t time_ns) {
  if (IsBegin(record) && dispatches_.StateOf(record.cpu).open()) [[unlikely]] {
    kernel_hooks_.EndInterrupts(record.cpu,
                                dispatches_.StateOf(record.cpu).seen_ns, false);
  }
  dispatches_.OnRecord(record.cpu, time_ns);
  if (logformat::IsKernelHookEvent(record.event_id)) {
    if (logformat::KernelHookRecord hook; Decode(record, hook)) {
      kernel_hooks_.OnRecord(record, hook, time_ns);
    } else {
      ++malformed_;
    }
    return;
  }
  switch (static_cast<CpuEvent>(record.event_id)) {
    case CpuEvent::kDispatch:
      kernel_hooks_.LeaveInterrupts(record.cpu, time_ns);
      dispatches_.OnDispatch(record, time_ns);
      return;
    case CpuEvent::kCounters:
      dispatches_.OnCounters(record, time_ns);
      if (const auto left_out = CallsLeftOutAt(record);
          left_out && *left_out != calls_left_out_) {
        EndCallsLeftOut(time_ns);
        SetCallsLeftOut(*left_out, time_ns);
      }
      if (logformat::CountersRecord dump;
          Decode(record, dump) && dispatches_.IsEnd(dump.reason, time_ns)) {
        kernel_hooks_.EndInterrupts(record.cpu, time_ns, true);
      }
      return;
    case CpuEvent::kWakeup:
      dispatches_.OnWakeup(record, time_ns);
      return;
    case CpuEvent::kSwitchIn:
      kernel_hooks_.LeaveInterrupts(record.cpu, time_ns);
      dispatches_.OnSwitchIn(record, time_ns);
      return;
    default:
      if (values_ != nullptr) values_->OnTask(record);
      if (!tasks_.OnRecord(record, time_ns)) ++malformed_;
      if (logformat::CommRecord exec;
          levels_ != nullptr &&
          record.event_id == static_cast<std::uint16_t>(CpuEvent::kExec) &&
          Decode(record, exec)) {
        const ThreadState* const thread = registry_.Find(exec.tid);
        if (thread != nullptr) levels_->OnExec(*thread, time_ns);
      }
      if (logformat::TaskRecord task;
          calls_left_out_ &&
          record.event_id == static_cast<std::uint16_t>(CpuEvent::kFork) &&
          Decode(record, task)) {
        ThreadState* const child = registry_.Find(task.tid);
        if (child != nullptr) DoubtCallsOf(*child, time_ns);
      }
      return;
  }
}

std::optional<bool> Reconstruction::CallsLeftOutAt(const EventRecord& record) {
  logformat::CountersRecord dump;
  if (record.event_id != static_cast<std::uint16_t>(CpuEvent::kCounters) ||
      record.stream_class != StreamClass::kCpu || !Decode(record, dump)) {
    return std::nullopt;
  }
  const auto is = [&dump](CountersReason reason) {
    return dump.reason == static_cast<std::uint32_t>(reason);
  };
  if (is(CountersReason::kCallsLeftOut)) return true;
  return is(CountersReason::kCallsRecorded) ? std::optional(false)
                                            : std::nullopt;
}

void Reconstruction::DoubtCallsOf(ThreadState& thread, std::uint64_t time_ns) {
  if (thread.process == nullptr || thread.exited || thread.retired) return;
  thread.process->calls_left_out = true;
  if (thread.unseen.stack_since_ns == UnseenState::kNever) {
    segments_.BeginKernelDoubt(thread, time_ns);
  }
}

void Reconstruction::SetCallsLeftOut(bool left_out, std::uint64_t time_ns) {
  kernel_hooks_.SetCallsLeftOut(left_out);
  segments_.SetCallsLeftOut(left_out);
  if (!left_out && !calls_left_out_) return;
  if (values_ != nullptr) values_->OnLoss();
  calls_left_out_ = left_out;
  calls_left_out_ns_ = time_ns;
  for (ThreadState& thread : registry_.threads()) {
    DoubtCallsOf(thread, time_ns);
  }
}

void Reconstruction::EndCallsLeftOut(std::uint64_t time_ns) {
  if (!calls_left_out_ || observer_ == nullptr) return;
  for (const CpuState& cpu : dispatches_.cpus()) {
    observer_->OnLoss({static_cast<std::int32_t>(cpu.cpu), kNoThread,
                       calls_left_out_ns_, time_ns, 0, logformat::kLeftOut});
  }
}

void Reconstruction::CloseSegmentsOfEnded() {
  for (const CpuState& cpu : dispatches_.cpus()) {
    kernel_hooks_.EndInterrupts(static_cast<std::int32_t>(cpu.cpu), cpu.seen_ns,
                                /*own=*/false);
  }
  const bool exits_recorded = dispatches_.coverage().any;
  for (ThreadState& thread : registry_.threads()) {
    if (hooks_.has_kernel_hooks()) segments_.EndKernelDoubt(thread, now_ns_);
    if (thread.stack.frames.empty() && thread.stacks.left.empty()) continue;
    // Blocked in a segment until the end; only if exits are recorded.
    const bool lives = exits_recorded && !thread.retired;
    const std::uint64_t end_ns = lives ? now_ns_ : thread.last_seen_ns;
    const bool dead = thread.dispatch.dead;
    if (dead || thread.retired ? thread.unseen.any()
                               : thread.unseen.latest_ns != 0) {
      // Its exit comes before its last switch.
      const std::uint64_t seen_ns =
          std::max(thread.hooks.last_ns, dead ? 0 : thread.last_seen_ns);
      segments_.DoubtEnd(thread, std::min(seen_ns, end_ns), end_ns,
                         dead ? end_ns : now_ns_);
    }
    segments_.CloseAll(thread, end_ns);
  }
}

// What lives in the open pause alone has no rows.
void Reconstruction::LeaveOutOfPause() {
  for (ThreadState& thread : registry_.threads()) {
    thread.ended_before |=
        thread.first_seen_ns >= kept_.At(kept_.Edge(next_edge_ - 1));
  }
}

Report Reconstruction::Finish(const logformat::TraceReader& reader,
                              bool interrupted) {
  Enter(kNever - 1, /*may_precede=*/false);
  now_ns_ = std::max({now_ns_, lost_until_ns_, window_.begin_ns()});
  if (window_.ends_in_range() && !interrupted) now_ns_ = window_.until_ns();
  EndCallsLeftOut(now_ns_);
  SetCallsLeftOut(false, now_ns_);
  dispatches_.Finish(now_ns_);
  CloseSegmentsOfEnded();
  if (levels_ != nullptr) levels_->Finish(now_ns_, dispatches_.coverage().any);
  const auto no_process = [](const ThreadState& thread) {
    return thread.process == nullptr;
  };
  if (observer_ != nullptr &&
      std::ranges::any_of(registry_.threads(), no_process)) {
    observer_->OnOwnersUnknown(0);
  }

  Report report;
  FillHeader(reader, registry_.gate(), report);
  // Without kernel records, only the process itself recorded its name.
  for (const logformat::ProcessName& named : info_.processes) {
    registry_.NameProcess(named.pid, named.comm);
  }
  report.begin_ns = std::max(info_.begin_ns, window_.begin_ns());
  if (window_.begin_ns() == 0 && first_ns_ != kNever &&
      (report.begin_ns == 0 || first_ns_ < report.begin_ns)) {
    report.begin_ns = first_ns_;
  }
  report.end_ns = std::max(report.begin_ns, now_ns_);
  report.of_range = window_.of_range();
  report.records = records_;
  report.interrupted = interrupted;
  report.hidden_switches = dispatches_.contradictions();

  const auto session = reader.session_discarded();
  const bool session_loss = std::ranges::any_of(
      session, [](std::uint64_t records) { return records != 0; });
  if (paused()) LeaveOutOfPause();
  paths_.IncludeChildren();
  const bool of_part = window_.of_range() || kept_.any();
  if (of_part) {
    paths_.DropUnused();
    // They are known for the whole trace.
    report.own_cost.bpf_ns = report.own_cost.bpf_sampled_ns = 0;
  }
  const auto& origins = hooks_.origins();
  report.interrupts =
      std::ranges::find(origins, HookOrigin::kInterrupt) != origins.end();
  BuildTables(
      {info_, registry_, paths_, dispatches_, cpu_counters_, tasks_.any_fault(),
       hooks_.kernel_events() != 0, session_loss || unplaced_loss_,
       report.interrupts, report.begin_ns, report.end_ns, rows_, of_part,
       values_.get(), levels_.get()},
      report);
  if (samples_ != nullptr) {
    Samples samples = samples_->Take();
    samples.of_part = of_part || window_.begin_ns() != 0 || interrupted;
    TakeDispatches(report, samples);
    report.samples = std::make_shared<const Samples>(std::move(samples));
  }
  if (interrupted) {
    ledger_.AddMessage(absl::StrFormat(
        "reading was interrupted after %d records: all numbers are of these "
        "alone",
        records_));
  }
  AddFindings({info_, registry_, dispatches_, cpu_counters_, thread_counters_,
               segments_, paths_, malformed_},
              ledger_);
  AddProbeFindings(report.processes, ledger_);
  // After an interruption, their ends may lie in the unread part.
  if (!interrupted) AddCutCpus(dispatches_, ledger_);
  report.loss = ledger_.Finish(reader);
  return report;
}

// `report` has the clock of `kept`; `asked`, and `last_ns` have not.
void SetRealTimes(const KeptTime& kept, const TableRange& asked,
                  std::uint64_t last_ns, Report& report) {
  const std::uint64_t kept_ns = report.end_ns - report.begin_ns;
  const bool begins = report.begin_ns == kept.At(asked.from_ns);
  const bool ends = report.end_ns == kept.At(asked.until_ns);
  report.begin_ns = begins ? asked.from_ns : kept.BeginAt(report.begin_ns);
  const std::uint64_t end_ns =
      ends ? std::min(asked.until_ns, last_ns)
           : std::max(kept.EndAt(report.end_ns), last_ns);
  // A begin that was not reached lies behind the last record.
  report.end_ns = std::max(end_ns, report.begin_ns + kept_ns);
  report.left_out_ns = report.end_ns - report.begin_ns - kept_ns;
  const auto set = [&kept](auto& rows) {
    for (auto& row : rows) {
      row.first_seen_ns = kept.BeginAt(row.first_seen_ns);
      row.last_seen_ns = kept.EndAt(row.last_seen_ns);
    }
  };
  set(report.processes);
  set(report.threads);
}

}  // namespace

absl::StatusOr<Report> Reconstruct(logformat::TraceReader& reader,
                                   const PipelineOptions& options) {
  if (const absl::Status checked = CheckRequest(reader.info(), options.gating);
      !checked.ok()) {
    return checked;
  }
  PipelineOptions of_part = options;
  const std::uint64_t part_ns =
      logformat::PartBeginNs(reader.info(), reader.end_ns());
  const KeptTime kept(reader.info().pauses);
  std::optional<RangeObserver> cuts;
  const bool begins_later = part_ns > options.range.from_ns;
  if (begins_later) of_part.range.from_ns = part_ns;
  if ((begins_later || kept.any()) && options.observer != nullptr) {
    cuts.emplace(TableRange{.from_ns = begins_later ? kept.At(part_ns) : 0},
                 *options.observer, kept);
    of_part.observer = &*cuts;
  }
  const TableRange asked = of_part.range;
  of_part.range.from_ns = kept.At(asked.from_ns);
  if (asked.until_ns != TableRange().until_ns) {
    of_part.range.until_ns = kept.At(asked.until_ns);
  }
  std::optional<logformat::TraceInfo> on_its_clock;
  if (kept.any()) {
    on_its_clock = reader.info();
    on_its_clock->snapshot_ns = kept.At(on_its_clock->snapshot_ns);
  }
  Reconstruction reconstruction(on_its_clock ? *on_its_clock : reader.info(),
                                of_part, reader.keeps_records(),
                                kept.At(reader.complete_from_ns()), kept,
                                cuts ? &*cuts : nullptr);
  absl::Status status;
  if (logformat::ItemSink* const ahead = reconstruction.ahead()) {
    status = reader.Read(*ahead, options.progress);
  }
  if (status.ok()) status = reader.Read(reconstruction, options.progress);
  const bool interrupted =
      options.keep_interrupted && absl::IsCancelled(status);
  if (!status.ok() && !interrupted) return status;
  Report report = reconstruction.Finish(reader, interrupted);
  absl::Status spooled = reconstruction.status();
  if (!spooled.ok()) return spooled;
  if (kept.any()) {
    // A snapshot's tables end there.
    std::uint64_t last_ns = reconstruction.last_ns();
    if (const std::uint64_t until_ns = reader.info().snapshot_ns) {
      last_ns = std::min(last_ns, until_ns);
    }
    SetRealTimes(kept, asked, last_ns, report);
    report.pauses =
        logformat::PausesIn(reader.info(), report.begin_ns, report.end_ns)
            .size();
  }
  return report;
}

}  // namespace countrace::rmap
