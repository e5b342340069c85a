// Routes each item of a trace to the state machine for it: Reconstruct() of
// pipeline.h. More than 400 lines, because the routes of one class are inlined
// into its loop; what they lead to has files of its own.
#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_format.h"
#include "rmap/counters/counter_extension.h"
#include "rmap/dispatch/dispatch_tracker.h"
#include "rmap/dispatch/kernel_layout.h"
#include "rmap/findings.h"
#include "rmap/pipeline.h"
#include "rmap/report_header.h"
#include "rmap/samples/sums/sample_sums.h"
#include "rmap/segments/kernel_hooks.h"
#include "rmap/segments/segment_builder.h"
#include "rmap/state/call_paths.h"
#include "rmap/state/thread_registry.h"
#include "rmap/tables/input/loss_ledger.h"
#include "rmap/tables/rows/table_builder.h"
#include "rmap/task_records.h"

namespace countrace::rmap {

namespace {

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
  // The tables begin at `begin_ns`; 0: with the trace.
  Reconstruction(const logformat::TraceInfo& info,
                 const PipelineOptions& options, bool records_stay,
                 std::uint64_t begin_ns)
      : info_(info),
        observer_(options.observer),
        takes_runs_(observer_ == nullptr || observer_->TakesThreadRuns()),
        rows_(options.rows),
        records_stay_(records_stay),
        tables_from_ns_(begin_ns),
        tables_until_ns_(info.snapshot_ns == 0 ? kNever : info.snapshot_ns),
        before_tables_(begin_ns != 0),
        hooks_(info),
        thread_dumps_(info.thread_sets()),
        thread_counters_(info.thread_counter_limits, ThreadEvents(info),
                         thread_dumps_.rotating()),
        paths_(ThreadEvents(info) + hooks_.kernel_events()),
        registry_(
            paths_,
            std::min(EventSetDumps(info.cpu_sets()).measures(), kMaxMeasures),
            Gate(info, options.gating)),
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
        samples_(options.rows.samples
                     ? std::make_unique<SampleSums>(
                           info, options.most_timed_samples, options.data)
                     : nullptr),
        kernel_hooks_(hooks_, registry_, dispatches_, segments_, observer_,
                      samples_.get()),
        tasks_(registry_, dispatches_, segments_, hooks_) {
    if (info.scope == logformat::SessionScope::kCommand && info.root_pid > 0) {
      registry_.Announce({info.root_pid, info.root_pid}, info.begin_ns);
    }
    if (options.range.from_ns > std::max(info.begin_ns, begin_ns)) {
      range_from_ns_ = options.range.from_ns;
      of_range_ = true;
    }
    if (options.range.until_ns < tables_until_ns_) {
      tables_until_ns_ = options.range.until_ns;
      of_range_ = until_range_ = true;
    }
  }

  // Only some observers and the edges of a range need the records of concurrent
  // threads in one order.
  bool TakesThreadRuns() const override { return takes_runs_ && !of_range_; }

  void OnRecord(const EventRecord& record) override {
    if (record.time_ns >= range_from_ns_) [[unlikely]]
      BeginRange();
    ++records_;
    const bool of_thread = record.stream_class == StreamClass::kThread;
    if (!of_thread && IsDefinition(record)) [[unlikely]] {
      if (samples_ != nullptr) samples_->Define(record);
      return;
    }
    if (before_tables_ && of_thread && IsBefore(record)) [[unlikely]]
      return;
    if (record.time_ns >= tables_until_ns_ && IsAfter(record)) [[unlikely]]
      return;
    const std::uint64_t time_ns =
        Advance(record.time_ns, takes_runs_ ? kernel_ns_ : now_ns_);
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
      OnSpecialKernelDump(record, time_ns);
    } else {
      OnKernelRecord(record, time_ns);
    }
  }

  void OnThreadRecords(
      const EventRecord& head,
      std::span<const logformat::ThreadRecord> records) override {
    const std::uint64_t begin_ns = records.front().time_ns;
    const std::uint64_t end_ns = records.back().time_ns;
    if (!dumps_stay() || !takes_runs_ || begin_ns < kernel_ns_ ||
        before_tables_ || end_ns >= tables_until_ns_ ||
        end_ns >= range_from_ns_ || !OnRun(head, records, begin_ns, end_ns)) {
      ItemSink::OnThreadRecords(head, records);
    }
  }

  void OnDiscardedEvents(const DiscardedEvents& loss) override {
    if (loss.begin_ns >= range_from_ns_) BeginRange();
    if (IsLossBehind(loss)) return;
    ledger_.Add(loss);
    if (loss.count == 0 || IsLossBefore(loss, loss.overwritten) ||
        IsLossAfter(loss)) {
      return;
    }
    Lose(loss);
  }

  void OnDiscardedPackets(const DiscardedPackets& loss) override {
    if (loss.begin_ns >= range_from_ns_) BeginRange();
    if (IsLossBehind(loss)) return;
    ledger_.Add(loss);
    if (!IsLossBefore(loss, false) && !IsLossAfter(loss)) Lose(loss);
  }

  // Requires: the last item was delivered, or `interrupted`.
  Report Finish(const logformat::TraceReader& reader, bool interrupted);

 private:
  template <typename Discarded>
  bool IsLossBehind(const Discarded& loss) {
    if (!until_range_ || loss.begin_ns < tables_until_ns_) return false;
    if (loss.stream_class == StreamClass::kCpu) {
      dispatches_.LoseBehind(tables_until_ns_);
    }
    return true;
  }
  bool IsDefinition(const EventRecord& record) const {
    return logformat::IsKernelHookEvent(record.event_id) &&
           hooks_.DefinesSamples(logformat::EventHookId(record.event_id));
  }
  void Lose(const DiscardedEvents& loss) {
    std::string_view cause = "unknown";
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < logformat::kDiscardCauses; ++i) {
      if (loss.by_cause[i] <= most) continue;
      most = loss.by_cause[i];
      cause = logformat::kDiscardCauseNames[i];
    }
    OnLoss(loss, loss.count, loss.count, cause);
  }
  void Lose(const DiscardedPackets& loss) {
    OnLoss(loss, 0, kUnbounded, "discarded_packets");
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
    if (!thread.process->counted) [[unlikely]]
      return;
    const std::uint32_t hook_id = logformat::EventHookId(record.event_id);
    thread.process->hits.Add(hook_id, record.counters != nullptr);
    dispatches_.SeeRunning(thread, time_ns);
    // A hook of a program cannot run inside a system call: the call is over.
    if (hooks_.has_kernel_hooks()) [[unlikely]] {
      segments_.EndKernelDoubt(thread, time_ns);
      segments_.LeaveKernel(thread, time_ns);
    }
    if (record.event_id & logformat::kEventExitBit) {
      segments_.Exit(thread, hook_id, DumpOf(record), time_ns);
    } else if (hooks_.kind(hook_id) == HookKind::kSegment) {
      segments_.Enter(thread, hook_id, DumpOf(record), time_ns);
    } else {
      if (hooks_.jumps().Have(hook_id)) segments_.Jump(thread, record, time_ns);
      if (observer_ != nullptr) {
        observer_->OnHook({thread.index, hook_id, time_ns});
      }
    }
    ThreadRegistry::See(thread, time_ns);
    SegmentBuilder::NoteHook(thread, time_ns);
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
      dump = thread_counters_.Extend(dump, present, time_ns,
                                     time_ns == record.time_ns);
      if (!thread_counters_.doubted().empty()) [[unlikely]] {
        const auto doubted =
            static_cast<std::uint32_t>(thread_counters_.doubted().word(0));
        ThreadOf(record, time_ns).stack.Doubt(doubted, /*kernel=*/{});
      }
    }
    OnHookRecord(dump, time_ns);
  }

  // The first dump of a CPU.
  static bool IsBegin(const EventRecord& record) {
    logformat::CountersRecord dump;
    if (record.event_id !=
            static_cast<std::uint16_t>(logformat::CpuEvent::kCounters) ||
        record.bytes.size() < sizeof(dump)) {
      return false;
    }
    std::memcpy(&dump, record.bytes.data(), sizeof(dump));
    return dump.reason ==
           static_cast<std::uint32_t>(logformat::CountersReason::kBegin);
  }

  void OnSpecialKernelDump(const EventRecord& record, std::uint64_t time_ns) {
    EventSetDumps& dumps = dispatches_.dumps();
    EventRecord dump = dumps.rotates() ? dumps.Spread(record) : record;
    if (cpu_counters_.active()) {
      if (IsBegin(record)) cpu_counters_.Restart(record.cpu);
      dump = cpu_counters_.Extend(dump, dumps.PresentIn(dump), time_ns,
                                  time_ns == record.time_ns);
      if (!cpu_counters_.doubted().empty()) [[unlikely]] {
        dispatches_.OnDoubt(record.cpu, cpu_counters_.doubted());
      }
    }
    OnKernelRecord(dump, time_ns);
  }

  // --- Before the tables begin (earlier_records.cc), after they end ---------

  // True if `record` comes before the tables begin: it names threads at most.
  bool IsBefore(const EventRecord& record) {
    if (record.time_ns < tables_from_ns_) {
      if (record.stream_class == StreamClass::kCpu) OnEarlier(record);
      return true;
    }
    BeginTables();
    // The order of reading is that of kernel records.
    before_tables_ = record.stream_class == StreamClass::kThread;
    return false;
  }
  void OnEarlier(const EventRecord& record);
  // Outside of the tables, the records of forks, names and ends alone count.
  void OnTask(const EventRecord& record, std::uint64_t time_ns);
  void BeginTables();
  // True if `record` comes after a snapshot's tables: they end at the
  // recorder's dumps, on each CPU at its own, and hooks before them all.
  bool IsAfter(const EventRecord& record);
  // The tables' range begins: what was counted so far is dropped.
  void BeginRange();
  // `record` comes after the range, and may say who had its CPU at its end.
  void EndRange(const EventRecord& record);
  // A process_state record behind the tables says who a thread in them is.
  void NameKnown(const EventRecord& record);
  // True if the tables do not begin yet at `loss`. One that lasts until then
  // begins with them.
  template <typename Discarded>
  bool IsLossBefore(const Discarded& loss, bool overwritten) {
    if (!before_tables_ || loss.begin_ns >= tables_from_ns_) return false;
    if (loss.stream_class == StreamClass::kCpu) {
      dispatches_.OnEarlierLoss(loss.cpu);
    }
    if (!overwritten && loss.end_ns > tables_from_ns_) {
      Discarded later = loss;
      later.begin_ns = tables_from_ns_;
      losses_at_begin_.emplace_back(std::move(later));
    }
    return true;
  }

  template <typename Discarded>
  bool IsLossAfter(const Discarded& loss) const {
    return loss.begin_ns >= tables_until_ns_ &&
           (loss.stream_class == StreamClass::kThread ||
            dispatches_.HasEnded(loss.cpu));
  }

  // --- Kernel records and loss -----------------------------------------------

  void OnKernelRecord(const EventRecord& record, std::uint64_t time_ns);
  void CloseSegmentsOfEnded();

  // `count`: for the observer, 0 if unknown; `records`: for bounds, then
  // kUnbounded.
  template <typename Discarded>
  void OnLoss(const Discarded& loss, std::uint64_t count, std::uint64_t records,
              std::string_view cause) {
    ThreadIndex index = kNoThread;
    lost_until_ns_ = std::max(lost_until_ns_, loss.end_ns);
    if (loss.stream_class == StreamClass::kCpu) {
      dispatches_.OnLoss(loss.cpu, loss.begin_ns, records);
      if (samples_ != nullptr) samples_->OnLoss(records);
      kernel_hooks_.EndInterrupts(loss.cpu, dispatches_.SeenNs(loss.cpu),
                                  false);
      if (hooks_.has_probes()) registry_.LoseAllHooks(loss.begin_ns);
    } else {
      index = OnThreadLoss(loss, records);
    }
    if (observer_ != nullptr) {
      observer_->OnLoss({loss.stream_class == StreamClass::kCpu ? loss.cpu : -1,
                         index, loss.begin_ns, loss.end_ns, count, cause});
    }
  }

  // Finds the thread that a loss concerns. It creates no rows: the time of a
  // loss is rough, so the tid may not be this thread's yet.
  template <typename Discarded>
  ThreadIndex OnThreadLoss(const Discarded& loss, std::uint64_t records) {
    if (!registry_.LoseHooks(loss.pid, loss.begin_ns, loss.end_ns, records)) {
      unplaced_loss_ = true;
    }
    ThreadState* thread = registry_.Find(loss.tid);
    if (thread == nullptr ||
        (thread->process != nullptr && thread->process->pid != loss.pid)) {
      return kNoThread;
    }
    thread->hooks_lost = true;
    SegmentBuilder::OnLoss(*thread);
    return thread->index;
  }

  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  struct StreamThread {
    std::int32_t pid = -1, tid = -1;
    ThreadState* thread = nullptr;
  };

  const logformat::TraceInfo& info_;
  // Counters of threads can be used where they lie in memory.
  bool dumps_stay() const {
    return records_stay_ && !thread_dumps_.rotates() &&
           !thread_counters_.active();
  }

  TimelineObserver* observer_;
  const bool takes_runs_;
  const WantedRows rows_;
  const bool records_stay_;
  std::uint64_t tables_from_ns_, tables_until_ns_;
  // The tables are of a range that begins at this record time; kNever: it has
  // begun, or it does with the tables. And: it ends at tables_until_ns_.
  std::uint64_t range_from_ns_ = kNever;
  bool of_range_ = false, until_range_ = false;
  bool before_tables_;  // records before that may still come
  bool tables_begun_ = false;
  std::vector<std::variant<DiscardedEvents, DiscardedPackets>> losses_at_begin_;
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
  KernelHooks kernel_hooks_;
  TaskRecords tasks_;
  LossLedger ledger_;
  std::vector<StreamThread> by_stream_;
  std::uint64_t records_ = 0, malformed_ = 0;
  std::uint64_t first_ns_ = kNever, now_ns_ = 0;
  std::uint64_t kernel_ns_ = 0;      // time of the last kernel record
  std::uint64_t lost_until_ns_ = 0;  // the latest end of a loss
  bool unplaced_loss_ = false;  // hook records of an unknown process were lost
};

void Reconstruction::OnEarlier(const EventRecord& record) {
  const bool hook = logformat::IsKernelHookEvent(record.event_id);
  dispatches_.OnEarlier(
      record,
      hook && hooks_.origins()[logformat::EventHookId(record.event_id)] ==
                  HookOrigin::kInterrupt);
  OnTask(record, record.time_ns);
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

void Reconstruction::NameKnown(const EventRecord& record) {
  logformat::StateRecord state;
  if (!Decode(record, state)) {
    ++malformed_;
  } else if (registry_.Find(state.tid) != nullptr) {
    tasks_.OnRecord(record, now_ns_);
  }
}

void Reconstruction::BeginRange() {
  const std::uint64_t begin_ns = std::exchange(range_from_ns_, kNever);
  if (before_tables_) BeginTables();
  before_tables_ = false;
  tables_from_ns_ = begin_ns;
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
  if (samples_ != nullptr) samples_->Drop();
  records_ = malformed_ = 0;
}

void Reconstruction::EndRange(const EventRecord& record) {
  --records_;
  if (record.stream_class == StreamClass::kThread) {
    // Its calls go on until the end.
    if (IsKnown(record)) {
      ThreadRegistry::See(*by_stream_[record.stream].thread, tables_until_ns_);
    }
    return;
  }
  if (static_cast<CpuEvent>(record.event_id) == CpuEvent::kProcessState) {
    NameKnown(record);
    return;
  }
  dispatches_.SettleBehind(record);
  if (!dispatches_.IsOpen(record.cpu)) return;
  if (IsBegin(record)) {
    dispatches_.CutRange(record.cpu, tables_until_ns_);
    return;
  }
  const auto tid = DispatchTracker::OccupantBefore(record);
  if (!tid) return;
  EventRecord dump = record;
  if (record.counters != nullptr && dispatches_.dumps().rotates()) {
    dump = dispatches_.dumps().Spread(record);
  }
  if (record.counters != nullptr && cpu_counters_.active()) {
    dump = cpu_counters_.Extend(dump, dispatches_.dumps().PresentIn(dump),
                                record.time_ns, /*time_sure=*/true);
    if (!cpu_counters_.doubted().empty()) {
      dispatches_.OnDoubt(record.cpu, cpu_counters_.doubted());
    }
  }
  dispatches_.EndRange(dump, *tid, tables_until_ns_);
  kernel_hooks_.EndInterrupts(record.cpu, tables_until_ns_, /*own=*/false);
}

bool Reconstruction::IsAfter(const EventRecord& record) {
  if (until_range_) {
    EndRange(record);
    return true;
  }
  if (record.stream_class == StreamClass::kThread) return true;
  if (!dispatches_.HasEnded(record.cpu)) return false;
  if (static_cast<CpuEvent>(record.event_id) == CpuEvent::kProcessState) {
    NameKnown(record);
    return true;
  }
  if (static_cast<CpuEvent>(record.event_id) == CpuEvent::kOwner) {
    OnTask(record, now_ns_);
    return true;
  }
  // A CPU whose tables go on may still show what begins or ends here.
  if (dispatches_.AnyOpen()) OnTask(record, now_ns_);
  return true;
}

void Reconstruction::BeginTables() {
  if (tables_begun_) return;
  tables_begun_ = true;
  registry_.BeginTables(tables_from_ns_);
  dispatches_.BeginTables(tables_from_ns_);
  for (const auto& loss : losses_at_begin_) {
    std::visit([this](const auto& lost) { Lose(lost); }, loss);
  }
}

void Reconstruction::OnKernelRecord(const EventRecord& record,
                                    std::uint64_t time_ns) {
  if (before_tables_ && IsBefore(record)) [[unlikely]]
    return;
  if (IsBegin(record) && dispatches_.IsOpen(record.cpu)) [[unlikely]] {
    kernel_hooks_.EndInterrupts(record.cpu, dispatches_.SeenNs(record.cpu),
                                false);
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
      if (!tasks_.OnRecord(record, time_ns)) ++malformed_;
      return;
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

Report Reconstruction::Finish(const logformat::TraceReader& reader,
                              bool interrupted) {
  if (before_tables_) BeginTables();
  if (range_from_ns_ != kNever) BeginRange();
  now_ns_ = std::max({now_ns_, lost_until_ns_, tables_from_ns_});
  if (until_range_ && !interrupted) now_ns_ = tables_until_ns_;
  dispatches_.Finish(now_ns_);
  CloseSegmentsOfEnded();
  if (observer_ != nullptr &&
      std::any_of(
          registry_.threads().begin(), registry_.threads().end(),
          [](const auto& thread) { return thread.process == nullptr; })) {
    observer_->OnOwnersUnknown(0);
  }

  Report report;
  FillHeader(reader, registry_.gate(), report);
  // Without kernel records, only the process itself recorded its name.
  for (const logformat::ProcessName& named : info_.processes) {
    registry_.NameProcess(named.pid, named.comm);
  }
  report.begin_ns = std::max(info_.begin_ns, tables_from_ns_);
  if (tables_from_ns_ == 0 && first_ns_ != kNever &&
      (report.begin_ns == 0 || first_ns_ < report.begin_ns)) {
    report.begin_ns = first_ns_;
  }
  report.end_ns = std::max(report.begin_ns, now_ns_);
  report.of_range = of_range_;
  report.records = records_;
  report.interrupted = interrupted;
  report.hidden_switches = dispatches_.contradictions();
  if (samples_ != nullptr) {
    Samples samples = samples_->Take();
    samples.of_part = of_range_ || tables_from_ns_ != 0 || interrupted;
    report.samples = std::make_shared<const Samples>(std::move(samples));
  }

  const auto session = reader.session_discarded();
  const bool session_loss =
      std::any_of(session.begin(), session.end(),
                  [](std::uint64_t records) { return records != 0; });
  paths_.IncludeChildren();
  if (of_range_) {
    paths_.DropUnused();
    // They are known for the whole trace.
    report.own_cost.bpf_ns = report.own_cost.bpf_sampled_ns = 0;
  }
  const auto is_interrupt = [](logformat::HookOrigin origin) {
    return origin == logformat::HookOrigin::kInterrupt;
  };
  report.interrupts = std::any_of(hooks_.origins().begin(),
                                  hooks_.origins().end(), is_interrupt);
  BuildTables(
      {info_, registry_, paths_, dispatches_, cpu_counters_, tasks_.any_fault(),
       hooks_.kernel_events() != 0, session_loss || unplaced_loss_,
       report.interrupts, report.begin_ns, report.end_ns, rows_, of_range_},
      report);
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

}  // namespace

absl::StatusOr<Report> Reconstruct(logformat::TraceReader& reader,
                                   const PipelineOptions& options) {
  if (const absl::Status checked = CheckRequest(reader.info(), options.gating);
      !checked.ok()) {
    return checked;
  }
  Reconstruction reconstruction(reader.info(), options, reader.keeps_records(),
                                reader.complete_from_ns());
  const absl::Status status = reader.Read(reconstruction, options.progress);
  const bool interrupted =
      options.keep_interrupted && absl::IsCancelled(status);
  if (!status.ok() && !interrupted) return status;
  return reconstruction.Finish(reader, interrupted);
}

}  // namespace countrace::rmap
