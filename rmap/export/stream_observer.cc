#include "rmap/export/stream_observer.h"

#include <utility>

#include "logformat/packet_layout.h"
#include "rmap/over_time/interval_bounds.h"

namespace countrace::rmap {
namespace {

// What EventSetDumps adds to the number of a set.
constexpr std::uint32_t kOddRotation = std::uint32_t{1} << 31;
constexpr std::string_view kExact = "exact";
constexpr std::string_view kInferred = "inferred";

Value QualityOf(bool inferred) { return inferred ? kInferred : kExact; }

// An instant; absent if it is not known.
Value Instant(std::uint64_t time_ns) {
  return time_ns == ~std::uint64_t{0} ? Value() : Integer(time_ns);
}

std::string_view EndStateName(std::uint16_t state) {
  if (logformat::IsThrottled(state)) return "throttled";
  switch (state) {
    case logformat::kSwitchRunnable:
      return "runnable";
    case logformat::kSwitchInterruptible:
      return "interruptible";
    case logformat::kSwitchUninterruptible:
      return "uninterruptible";
    case logformat::kSwitchStopped:
      return "stopped";
    case logformat::kSwitchTraced:
      return "traced";
    case logformat::kSwitchDead:
      return "dead";
    default:
      return logformat::IsRunnable(state) ? "preempted" : "other";
  }
}

}  // namespace

Value ThreadValue(ThreadIndex thread) {
  if (thread == kNoThread) return {};
  return Integer(static_cast<std::uint64_t>(thread));
}

StreamObserver::StreamObserver(const logformat::TraceInfo& info,
                               std::vector<std::string> events, Threads threads,
                               bool texts, TableWriter& writer)
    : events_(std::move(events)),
      threads_(std::move(threads)),
      records_(info, {.texts = texts}) {
  for (const logformat::HookInfo& hook : info.hooks) {
    hooks_.emplace(hook.id, Hook{hook.FullName(),
                                 hook.origin == logformat::HookOrigin::kProgram
                                     ? hook.payload.size()
                                     : hook.payload_names.size()});
  }
  for (std::size_t i = 0; i < kStreamed; ++i) {
    const TableSchema& schema = StreamedTables()[i];
    if (writer.Takes(schema.name)) rows_[i] = writer.Begin(schema);
  }
}

Value StreamObserver::Tid(ThreadIndex thread) const {
  const auto number = static_cast<std::size_t>(thread);
  if (number >= tids_.size()) return {};
  return std::int64_t{tids_[number]};
}

Value StreamObserver::HookName(std::uint32_t hook_id) const {
  const auto hook = hooks_.find(hook_id);
  return hook == hooks_.end() ? Value()
                              : Value(std::string_view(hook->second.name));
}

void StreamObserver::OnThread(ThreadIndex thread, std::int32_t tid) {
  const auto number = static_cast<std::size_t>(thread);
  if (number >= tids_.size()) tids_.resize(number + 1);
  tids_[number] = tid;
}

void StreamObserver::OnDispatch(const DispatchSpan& span) {
  RowWriter* const rows = Rows(Streamed::kDispatches);
  if (rows == nullptr || !Has(span.thread)) return;
  const bool idle = span.thread == kNoThread;
  const std::string_view of = span.outside ? "outside"
                              : idle       ? "idle"
                                           : "thread";
  rows->Write(std::array<Value, 9>{
      Integer(span.cpu), of, ThreadValue(span.thread), Tid(span.thread),
      Integer(span.begin_ns), Integer(span.end_ns),
      idle ? Value() : Value(EndStateName(span.end_state)),
      Integer(span.interrupts_ns),
      QualityOf(span.begin_inferred || span.end_inferred)});
}

void StreamObserver::OnSegment(const SegmentSpan& span) {
  RowWriter* const rows = Rows(Streamed::kCalls);
  if (rows == nullptr || !Has(span.thread)) return;
  // Without a kernel's records nothing is known of a CPU.
  const bool known = span.on_cpu_ns.has_value();
  rows->Write(std::array<Value, 12>{
      Value(), ThreadValue(span.thread), Tid(span.thread),
      HookName(span.hook_id), Integer(span.depth), Integer(span.begin_ns),
      Integer(span.end_ns), Integer(span.on_cpu_ns),
      known ? Integer(span.switches) : Value(),
      known ? Integer(span.faults) : Value(),
      known ? Value(span.on_cpu_exact ? kExact : kInferred) : Value(),
      QualityOf(span.begin_inferred || span.end_inferred)});
}

void StreamObserver::OnInterrupt(const InterruptSpan& span) {
  RowWriter* const rows = Rows(Streamed::kCalls);
  if (rows == nullptr || !Has(kNoThread)) return;
  rows->Write(std::array<Value, 12>{
      Integer(span.cpu), Value(), Value(), HookName(span.hook_id),
      Integer(span.depth), Integer(span.begin_ns), Integer(span.end_ns),
      Value(), Value(), Value(), Value(), QualityOf(span.end_inferred)});
}

void StreamObserver::OnHook(const HookHit& hit) {
  RowWriter* const rows = Rows(Streamed::kPoints);
  if (rows == nullptr || !Has(hit.thread)) return;
  const auto hook = hooks_.find(hit.hook_id);
  std::string payload;
  if (hit.record != nullptr && hook != hooks_.end() &&
      hook->second.values > 0) {
    logformat::EventRecord record = *hit.record;
    record.mmcr &= ~kOddRotation;
    records_.AppendPayload(record, hook->second.values, payload);
  }
  rows->Write(std::array<Value, 6>{
      Integer(hit.time_ns), Value(), ThreadValue(hit.thread), Tid(hit.thread),
      HookName(hit.hook_id), TextOrAbsent(payload)});
}

void StreamObserver::OnFault(const FaultHit& hit) {
  RowWriter* const rows = Rows(Streamed::kPoints);
  if (rows == nullptr || !Has(hit.thread)) return;
  rows->Write(std::array<Value, 6>{Integer(hit.time_ns), Integer(hit.cpu),
                                   ThreadValue(hit.thread), Tid(hit.thread),
                                   std::string_view("page-fault"), Value()});
}

void StreamObserver::OnWait(const WaitSpan& span) {
  RowWriter* const rows = Rows(Streamed::kWaits);
  if (rows == nullptr || !Has(span.thread)) return;
  rows->Write(std::array<Value, 5>{
      ThreadValue(span.thread), Tid(span.thread), std::string_view("runnable"),
      Integer(span.begin_ns), Integer(span.end_ns)});
}

void StreamObserver::OnBlocked(const BlockedSpan& span) {
  if (!Has(span.thread)) return;
  if (RowWriter* const rows = Rows(Streamed::kWaits)) {
    rows->Write(std::array<Value, 5>{
        ThreadValue(span.thread), Tid(span.thread), std::string_view("blocked"),
        Integer(span.begin_ns), Integer(span.end_ns)});
  }
  RowWriter* const rows = Rows(Streamed::kWakeups);
  if (rows == nullptr || span.kind == WakerKind::kStillBlocked) return;
  rows->Write(std::array<Value, 8>{
      Integer(span.end_ns), ThreadValue(span.thread), Tid(span.thread),
      Integer(span.end_ns - span.begin_ns),
      std::string_view(WakerKindName(span.kind)), ThreadValue(span.waker),
      Tid(span.waker), HookName(span.waker_hook)});
}

void StreamObserver::OnCounts(const AttributedCount& counted) {
  RowWriter* const rows = Rows(Streamed::kCounts);
  // Events beyond the trace's are the running times of event sets.
  if (rows == nullptr || counted.event >= events_.size() ||
      !Has(counted.thread)) {
    return;
  }
  const Value count = Integer(counted.count);
  rows->Write(std::array<Value, 10>{
      Integer(counted.cpu), std::string_view(AccountName(counted.account)),
      ThreadValue(counted.thread), Tid(counted.thread),
      Integer(counted.begin_ns), Integer(counted.end_ns),
      std::string_view(events_[counted.event]), count, count, count});
}

void StreamObserver::OnUnseen(const UnseenCount& unseen) {
  RowWriter* const rows = Rows(Streamed::kCounts);
  if (rows == nullptr || !Has(kNoThread) || !unseen.event ||
      *unseen.event >= events_.size()) {
    return;
  }
  rows->Write(std::array<Value, 10>{
      Value(), std::string_view("unseen"), Value(), Value(),
      Instant(unseen.begin_ns), Instant(unseen.end_ns),
      std::string_view(events_[*unseen.event]), Value(), Integer(0),
      unseen.count == Bounds::kNone ? Value() : Integer(unseen.count)});
}

void StreamObserver::OnLoss(const LossSpan& loss) {
  RowWriter* const rows = Rows(Streamed::kLosses);
  if (rows == nullptr || !Has(loss.thread)) return;
  rows->Write(std::array<Value, 7>{
      loss.cpu < 0 ? Value() : Value(std::int64_t{loss.cpu}),
      ThreadValue(loss.thread), Tid(loss.thread), Instant(loss.begin_ns),
      Instant(loss.end_ns), loss.count == 0 ? Value() : Integer(loss.count),
      loss.cause});
}

}  // namespace countrace::rmap
