#include "rmap/export/perfetto/trace_observer.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "absl/strings/str_format.h"
#include "logformat/description/recorded_part.h"
#include "rmap/columns/report_columns.h"
#include "rmap/dispatch/kernel_layout.h"

namespace countrace::rmap::perfetto {
namespace {

constexpr char kQuality[] = "quality";
constexpr char kInferred[] = "inferred";

// Calls add(row) for each of `rows` in the order in which they were seen.
template <typename Row, typename Add>
void InOrderOfTime(const std::vector<Row>& rows, const Add& add) {
  std::vector<const Row*> order;
  for (const Row& row : rows) order.push_back(&row);
  std::ranges::stable_sort(order, {}, &Row::first_seen_ns);
  for (const Row* row : order) add(*row);
}

std::uint64_t ProcessUuid(ProcessIndex process) {
  return TrackUuid(TrackOf::kProcess, static_cast<std::uint64_t>(process));
}

}  // namespace

TraceObserver::TraceObserver(Packets& packets, TrackEvents& events,
                             const logformat::TraceInfo& info,
                             const Report& report)
    : packets_(packets),
      events_(events),
      // Which kernel another tool recorded is not known for sure.
      sched_(packets, info.source.empty() && !report.kernel_release.empty()),
      begin_ns_(report.begin_ns),
      end_ns_(report.end_ns),
      event_names_(info.cpu_events),
      dump_names_(info.thread_events),
      info_(info) {
  dump_names_.insert(dump_names_.end(), event_names_.begin(),
                     event_names_.end());
  DescribeProcesses(report);
  DescribeThreads(report);
}

void TraceObserver::DescribeProcesses(const Report& report) {
  InOrderOfTime(report.processes, [&](const ProcessRow& row) {
    if (row.pid <= 0) return;
    events_.Describe(ProcessUuid(row.index), row.first_seen_ns,
                     [&](Message& track) {
                       Message process(track, kProcess);
                       process.add_int32(kProcessPid, row.pid);
                       AddText(process, kProcessName, row.comm);
                     });
  });
}

void TraceObserver::DescribeThreads(const Report& report) {
  InOrderOfTime(report.threads, [&](const ThreadRow& row) {
    Thread& thread = ThreadAt(row.index);
    thread.comm = row.comm;
    thread.known = true;
    if (row.pid <= 0) return;
    thread.described = true;
    events_.Describe(ThreadUuid(row.index), row.first_seen_ns,
                     [&](Message& track) {
                       track.add_uint64(kParentUuid, ProcessUuid(row.process));
                       Message of(track, kThread);
                       of.add_int32(kThreadPid, row.pid);
                       of.add_int32(kThreadTid, row.tid);
                       AddText(of, kThreadName, row.comm);
                     });
  });
}

TraceObserver::Thread& TraceObserver::ThreadAt(ThreadIndex thread) {
  const auto number = static_cast<std::size_t>(thread);
  if (number >= threads_.size()) threads_.resize(number + 1);
  return threads_[number];
}

std::uint64_t TraceObserver::TrackOfThread(ThreadIndex index) {
  const std::uint64_t uuid = ThreadUuid(index);
  Thread& thread = ThreadAt(index);
  if (!std::exchange(thread.described, true)) {
    events_.Describe(uuid, begin_ns_, [&](Message& track) {
      AddText(track, kTrackName,
              absl::StrFormat("%s %d", thread.comm, thread.tid));
    });
  }
  return uuid;
}

void TraceObserver::OnThread(ThreadIndex index, std::int32_t tid) {
  ThreadAt(index).tid = tid;
  tids_[tid] = index;
}

void TraceObserver::OnDispatch(const DispatchSpan& span) {
  Task task;
  if (span.thread != kNoThread) {
    const Thread& thread = ThreadAt(span.thread);
    task = {thread.tid, thread.comm};
  }
  sched_.Dispatch(span, task);
}

void TraceObserver::AddValues(Message& event, std::uint32_t hook_id,
                              bool exit) const {
  if (record_ == nullptr ||
      (record_->stream_class == logformat::StreamClass::kCpu &&
       !logformat::IsKernelHookEvent(record_->event_id)) ||
      logformat::EventHookId(record_->event_id) != hook_id ||
      ((record_->event_id & logformat::kEventExitBit) != 0) != exit) {
    return;
  }
  events_.AnnotateValues(event, *record_);
}

void TraceObserver::BeginSlice(ThreadIndex index, std::uint32_t hook_id,
                               std::uint64_t time_ns, bool inferred) {
  std::vector<std::uint64_t>& ends_ns = ThreadAt(index).ends_ns;
  ends_ns.push_back(std::max(ends_ns.back(), time_ns));
  events_.Add(ends_ns.back(), EventType::kBegin, TrackOfThread(index),
              [&](Message& event) {
                TrackEvents::AddName(event, hook_id);
                AddValues(event, hook_id, /*exit=*/false);
                if (inferred) TrackEvents::Annotate(event, kQuality, kInferred);
              });
}

void TraceObserver::OnSegmentBegin(const SegmentBegin& begin) {
  BeginSlice(begin.thread, begin.hook_id, begin.time_ns, begin.cut);
}

void TraceObserver::OnSegment(const SegmentSpan& span) {
  // Its enter was not recorded, so that it had no begin.
  if (span.begin_inferred) {
    BeginSlice(span.thread, span.hook_id, span.begin_ns, /*inferred=*/true);
  }
  // An end that was not recorded can be earlier than what came meanwhile.
  std::vector<std::uint64_t>& ends_ns = ThreadAt(span.thread).ends_ns;
  if (ends_ns.size() == 1) return;
  const std::uint64_t end_ns = std::max(ends_ns.back(), span.end_ns);
  ends_ns.pop_back();
  ends_ns.back() = std::max(ends_ns.back(), end_ns);
  events_.Add(
      end_ns, EventType::kEnd, ThreadUuid(span.thread), [&](Message& event) {
        AddValues(event, span.hook_id, /*exit=*/true);
        for (std::size_t i = 0; i < span.dumps.size(); ++i) {
          if (span.dumps[i] && i < dump_names_.size()) {
            TrackEvents::Annotate(event, dump_names_[i], *span.dumps[i]);
          }
        }
        if (span.end_inferred) {
          TrackEvents::Annotate(event, kQuality, kInferred);
        }
      });
}

void TraceObserver::OnHook(const HookHit& hit) {
  events_.Add(hit.time_ns, EventType::kInstant, TrackOfThread(hit.thread),
              [&](Message& event) {
                TrackEvents::AddName(event, hit.hook_id);
                AddValues(event, hit.hook_id, /*exit=*/false);
              });
}

void TraceObserver::OnFault(const FaultHit& hit) {
  if (hit.thread == kNoThread) return;
  events_.Add(hit.time_ns, EventType::kInstant, TrackOfThread(hit.thread),
              [&](Message& event) {
                event.add_string(kName, "page-fault");
                TrackEvents::Annotate(event, "cpu", std::uint64_t{hit.cpu});
              });
}

// --- CPUs --------------------------------------------------------------------

void TraceObserver::OnInterrupt(const InterruptSpan& span) {
  interrupts_[span.cpu].push_back(span);
  // The others are in it.
  if (span.depth == 0) WriteInterrupts(span.cpu);
}

void TraceObserver::WriteInterrupts(std::uint32_t cpu) {
  std::vector<InterruptSpan>& spans = interrupts_[cpu];
  const std::uint64_t uuid = TrackUuid(TrackOf::kInterrupts, cpu);
  const auto [lost, first] = lost_ns_.try_emplace(uuid, 0);
  if (first) {
    events_.Describe(uuid, begin_ns_, [&](Message& track) {
      AddText(track, kTrackName, absl::StrFormat("CPU %d interrupts", cpu));
    });
  }
  std::ranges::stable_sort(
      spans, [](const InterruptSpan& a, const InterruptSpan& b) {
        return std::tie(a.begin_ns, a.depth) < std::tie(b.begin_ns, b.depth);
      });
  std::vector<const InterruptSpan*> open;
  const auto end_from = [&](std::uint32_t depth) {
    while (!open.empty() && open.back()->depth >= depth) {
      events_.Add(open.back()->end_ns, EventType::kEnd, uuid, [](Message&) {});
      open.pop_back();
    }
  };
  for (const InterruptSpan& span : spans) {
    end_from(span.depth);
    open.push_back(&span);
    events_.Add(span.begin_ns, EventType::kBegin, uuid, [&](Message& event) {
      TrackEvents::AddName(event, span.hook_id);
      if (span.end_inferred) TrackEvents::Annotate(event, kQuality, kInferred);
    });
  }
  end_from(0);
  spans.clear();
}

void TraceObserver::OnCounts(const AttributedCount& counted) {
  if (counted.event >= event_names_.size()) return;
  const std::string& name = event_names_[counted.event];
  const std::uint64_t uuid = TrackUuid(
      TrackOf::kCounter, counted.cpu * event_names_.size() + counted.event);
  const auto [found, first] = counts_.try_emplace(uuid);
  Count& count = found->second;
  // What was unconfirmed comes late.
  const auto add = [&](std::uint64_t time_ns) {
    count.last_ns = std::max(count.last_ns, time_ns);
    events_.Add(count.last_ns, EventType::kCounter, uuid, [&](Message& event) {
      event.add_int64(kCounterValue, static_cast<std::int64_t>(count.sum));
    });
  };
  if (first) {
    const bool time = UnitOfEvent(name) == Unit::kNanoseconds;
    events_.Describe(uuid, begin_ns_, [&](Message& track) {
      AddText(track, kTrackName,
              absl::StrFormat("CPU %d %s", counted.cpu, name));
      Message(track, kCounter).add_enum(kUnit, time ? kTimeNs : kCount);
    });
    add(counted.begin_ns);
  }
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (counted.count > kMost - count.sum) {
    return packets_.Fail(absl::OutOfRangeError(absl::StrFormat(
        "The count of %s is 2^63 or more, which no counter track holds",
        name)));
  }
  count.sum += counted.count;
  add(counted.end_ns);
}

void TraceObserver::OnLoss(const LossSpan& loss) {
  const bool of_cpu = loss.cpu >= 0;
  if (!of_cpu && loss.thread == kNoThread) return;
  if (of_cpu) sched_.Lose(static_cast<std::uint32_t>(loss.cpu));
  const std::uint64_t thread = of_cpu ? 0 : TrackOfThread(loss.thread);
  const std::uint64_t uuid =
      of_cpu ? TrackUuid(TrackOf::kLossesOfCpu,
                         static_cast<std::uint64_t>(loss.cpu))
             : TrackUuid(TrackOf::kLossesOfThread,
                         static_cast<std::uint64_t>(loss.thread));
  const auto [until, first] = lost_ns_.try_emplace(uuid, begin_ns_);
  if (first) {
    events_.Describe(uuid, begin_ns_, [&](Message& track) {
      if (!of_cpu) track.add_uint64(kParentUuid, thread);
      AddText(track, kTrackName,
              of_cpu ? absl::StrFormat("CPU %d lost records", loss.cpu)
                     : "lost records");
    });
  }
  // Slices of a track do not overlap.
  const std::uint64_t begin_ns = std::clamp(loss.begin_ns, until->second,
                                            std::max(until->second, end_ns_));
  until->second =
      std::clamp(loss.end_ns, begin_ns, std::max(begin_ns, end_ns_));
  events_.Add(begin_ns, EventType::kBegin, uuid, [&](Message& event) {
    event.add_string(kName, "lost");
    TrackEvents::Annotate(event, "cause", loss.cause);
    if (loss.count != 0) TrackEvents::Annotate(event, "records", loss.count);
  });
  events_.Add(until->second, EventType::kEnd, uuid, [](Message&) {});
}

void TraceObserver::AfterRecord() {
  const logformat::EventRecord& record = *record_;
  record_ = nullptr;
  if (record.stream_class != logformat::StreamClass::kCpu ||
      record.event_id !=
          static_cast<std::uint16_t>(logformat::CpuEvent::kWakeup) ||
      record.time_ns < begin_ns_ || record.time_ns > end_ns_ ||
      logformat::PauseAt(info_, record.time_ns) != nullptr) {
    return;
  }
  const auto tids = TidsOf(record);
  const auto wakee = tids ? tids_.find(tids->second) : tids_.end();
  if (wakee == tids_.end()) return;
  const Thread& thread = ThreadAt(wakee->second);
  if (!thread.known) return;  // it is not counted
  // An interrupt has the number of the wakee, or on an idle CPU none.
  const bool by_thread = tids->first != thread.tid;
  sched_.Waking(static_cast<std::uint32_t>(record.cpu), record.time_ns,
                by_thread ? tids->first : 0, {thread.tid, thread.comm},
                tids->state);
}

void TraceObserver::Finish() {
  for (auto& [cpu, spans] : interrupts_) WriteInterrupts(cpu);
  sched_.Finish();
}

}  // namespace countrace::rmap::perfetto
