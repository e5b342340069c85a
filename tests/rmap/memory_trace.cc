#include "tests/rmap/memory_trace.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <random>

namespace countrace::test_support {

using logformat::CpuEvent;
using logformat::StreamClass;

namespace {
constexpr std::uint32_t kCpuStreams = 256;
}  // namespace

void MemoryTrace::AddHook(std::uint32_t id, logformat::HookKind kind,
                          const std::string& provider, const std::string& name,
                          logformat::HookOrigin origin) {
  logformat::HookInfo hook;
  hook.id = id;
  hook.kind = kind;
  hook.origin = origin;
  hook.provider = provider;
  hook.name = name;
  info_.hooks.push_back(hook);
  std::sort(info_.hooks.begin(), info_.hooks.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
}

std::uint32_t MemoryTrace::CpuStream(std::int32_t cpu) {
  const auto stream = static_cast<std::uint32_t>(cpu);
  return threads_first_ ? stream + (1u << 16) : stream;
}

std::uint32_t MemoryTrace::ThreadStream(std::int32_t pid, std::int32_t tid) {
  const auto next = static_cast<std::uint32_t>(thread_streams_.size());
  return thread_streams_.try_emplace({pid, tid}, kCpuStreams + next)
      .first->second;
}

void MemoryTrace::AddCpuRecord(std::uint64_t time_ns, std::int32_t cpu,
                               CpuEvent event, const void* layout,
                               std::size_t bytes, const Counters* counters) {
  Record record;
  record.bytes.resize(bytes);
  std::memcpy(record.bytes.data(), layout, bytes);
  if (counters != nullptr) {
    record.counters = *counters;
    record.fields.present = (1u << counters->size()) - 1;
  }
  record.fields.time_ns = time_ns;
  record.fields.stream = CpuStream(cpu);
  record.fields.stream_class = StreamClass::kCpu;
  record.fields.event_id = static_cast<std::uint16_t>(event);
  record.fields.cpu = cpu;
  record.fields.mmcr = mmcr_[cpu];
  record.fields.pid = record.fields.tid = -1;
  items_.push_back({time_ns, record.fields.stream, std::move(record)});
}

void MemoryTrace::Dispatch(std::uint64_t time_ns, std::int32_t cpu,
                           std::uint32_t prev, std::uint32_t next,
                           std::uint16_t state, const Counters& counters) {
  AddLayout(
      time_ns, cpu, CpuEvent::kDispatch,
      logformat::DispatchRecord{0, logformat::PackDispatch(prev, next, state)},
      &counters);
}

void MemoryTrace::SwitchIn(std::uint64_t time_ns, std::int32_t cpu,
                           std::uint32_t prev, std::uint32_t next,
                           bool computed) {
  AddLayout(time_ns, cpu, CpuEvent::kSwitchIn,
            logformat::SwitchInRecord{
                0, logformat::PackDispatch(prev, next, computed ? 1 : 0)});
}

void MemoryTrace::Wakeup(std::uint64_t time_ns, std::int32_t cpu,
                         std::uint32_t waker, std::uint32_t wakee) {
  AddLayout(
      time_ns, cpu, CpuEvent::kWakeup,
      logformat::WakeupRecord{0, logformat::PackDispatch(waker, wakee, 0)});
}

void MemoryTrace::Dump(std::uint64_t time_ns, std::int32_t cpu,
                       logformat::CountersReason reason,
                       std::uint32_t running_tid, const Counters& counters) {
  AddLayout(time_ns, cpu, CpuEvent::kCounters,
            logformat::CountersRecord{0, static_cast<std::uint32_t>(reason),
                                      running_tid},
            &counters);
}

void MemoryTrace::Fork(std::uint64_t time_ns, std::int32_t cpu,
                       const Task& task) {
  AddLayout(time_ns, cpu, CpuEvent::kFork,
            logformat::TaskRecord{0, task.pid, task.tid, task.parent_pid,
                                  task.parent_tid});
}

void MemoryTrace::Exit(std::uint64_t time_ns, std::int32_t cpu,
                       const Task& task) {
  AddLayout(time_ns, cpu, CpuEvent::kExit,
            logformat::TaskRecord{0, task.pid, task.tid, task.parent_pid,
                                  task.parent_tid});
}

void MemoryTrace::Exec(std::uint64_t time_ns, std::int32_t cpu,
                       const Task& task, const std::string& comm) {
  logformat::CommRecord record{0, task.pid, task.tid, {}};
  std::memcpy(record.comm, comm.data(), std::min<std::size_t>(comm.size(), 16));
  AddLayout(time_ns, cpu, CpuEvent::kExec, record);
}

void MemoryTrace::Comm(std::uint64_t time_ns, std::int32_t cpu,
                       const Task& task, const std::string& comm) {
  logformat::CommRecord record{0, task.pid, task.tid, {}};
  std::memcpy(record.comm, comm.data(), std::min<std::size_t>(comm.size(), 16));
  AddLayout(time_ns, cpu, CpuEvent::kComm, record);
}

void MemoryTrace::State(std::uint64_t time_ns, std::int32_t cpu,
                        const Task& task, const std::string& comm) {
  logformat::StateRecord record{0, task.pid, task.tid, task.parent_pid, 0, {}};
  std::memcpy(record.comm, comm.data(), std::min<std::size_t>(comm.size(), 16));
  AddLayout(time_ns, cpu, CpuEvent::kProcessState, record);
}

void MemoryTrace::Fault(std::uint64_t time_ns, std::int32_t cpu,
                        const Task& task) {
  AddLayout(time_ns, cpu, CpuEvent::kFault,
            logformat::FaultRecord{0, task.pid, task.tid, 0x1000});
}

void MemoryTrace::KernelHook(std::uint64_t time_ns, std::int32_t cpu,
                             const Hook& hook,
                             const std::optional<Counters>& counters) {
  std::uint32_t event = hook.hook_id * 2 + (hook.exit ? 1 : 0);
  if (counters) event |= logformat::kEventDumpBit;
  const logformat::KernelHookRecord record{
      0, logformat::PackDispatch(static_cast<std::uint32_t>(hook.tid),
                                 static_cast<std::uint32_t>(hook.pid), 0)};
  AddLayout(time_ns, cpu, static_cast<CpuEvent>(event), record,
            counters ? &*counters : nullptr);
}

void MemoryTrace::HookRecord(std::uint64_t time_ns, const Hook& hook,
                             const std::optional<HookDump>& dump) {
  Record record;
  record.fields.time_ns = time_ns;
  record.fields.stream = ThreadStream(hook.pid, hook.tid);
  record.fields.stream_class = StreamClass::kThread;
  record.fields.event_id =
      static_cast<std::uint16_t>(hook.hook_id * 2 + (hook.exit ? 1 : 0));
  record.fields.cpu = -1;
  record.fields.pid = hook.pid;
  record.fields.tid = hook.tid;
  if (dump) {
    record.fields.event_id |= logformat::kEventDumpBit;
    record.fields.mmcr = dump->mmcr;
    record.fields.present = dump->present;
    record.counters = dump->counters;
  }
  // As a packet holds it (FORMAT.md, 4.2).
  record.bytes.resize(8 + (dump ? 8 * (1 + dump->counters.size()) : 0));
  if (dump) {
    const logformat::ThreadDump values{dump->mmcr, dump->present};
    std::memcpy(record.bytes.data() + 8, &values, sizeof(values));
    std::memcpy(record.bytes.data() + 16, dump->counters.data(),
                8 * dump->counters.size());
  }
  items_.push_back({time_ns, record.fields.stream, std::move(record)});
}

void MemoryTrace::LoseOnCpu(std::uint64_t begin_ns, std::int32_t cpu,
                            std::uint64_t count,
                            logformat::DiscardCause cause) {
  logformat::DiscardedEvents loss{};
  loss.stream = CpuStream(cpu);
  loss.stream_class = StreamClass::kCpu;
  loss.cpu = cpu;
  loss.pid = loss.tid = -1;
  loss.begin_ns = loss.end_ns = begin_ns;
  loss.count = count;
  loss.by_cause[static_cast<std::size_t>(cause)] = count;
  items_.push_back({begin_ns, loss.stream, loss});
}

void MemoryTrace::LoseOfThread(std::uint64_t begin_ns, std::int32_t pid,
                               std::int32_t tid, std::uint64_t count,
                               logformat::DiscardCause cause) {
  logformat::DiscardedEvents loss{};
  loss.stream = ThreadStream(pid, tid);
  loss.stream_class = StreamClass::kThread;
  loss.cpu = -1;
  loss.pid = pid;
  loss.tid = tid;
  loss.begin_ns = loss.end_ns = begin_ns;
  loss.count = count;
  loss.by_cause[static_cast<std::size_t>(cause)] = count;
  items_.push_back({begin_ns, loss.stream, loss});
}

void MemoryTrace::LosePackets(std::uint64_t begin_ns, std::int32_t cpu,
                              const std::string& reason) {
  logformat::DiscardedPackets loss{};
  loss.stream = CpuStream(cpu);
  loss.stream_class = StreamClass::kCpu;
  loss.cpu = cpu;
  loss.pid = loss.tid = -1;
  loss.begin_ns = loss.end_ns = begin_ns;
  loss.packets = 1;
  loss.reason = reason;
  items_.push_back({begin_ns, loss.stream, std::move(loss)});
}

void MemoryTrace::Sort() {
  std::stable_sort(items_.begin(), items_.end(),
                   [](const Item& a, const Item& b) {
                     return a.time_ns != b.time_ns ? a.time_ns < b.time_ns
                                                   : a.stream < b.stream;
                   });
}

void MemoryTrace::Deliver(const Item& item, logformat::ItemSink& sink) {
  if (const auto* record = std::get_if<Record>(&item.what)) {
    logformat::EventRecord out = record->fields;
    out.bytes = record->bytes;
    out.counters = record->counters ? record->counters->data() : nullptr;
    sink.OnRecord(out);
  } else if (const auto* events =
                 std::get_if<logformat::DiscardedEvents>(&item.what)) {
    sink.OnDiscardedEvents(*events);
  } else {
    sink.OnDiscardedPackets(std::get<logformat::DiscardedPackets>(item.what));
  }
}

absl::Status MemoryTrace::Read(logformat::ItemSink& sink,
                               logformat::ProgressCallback progress,
                               void* progress_context) {
  Sort();
  std::uint64_t done = 0;
  for (const Item& item : items_) {
    Deliver(item, sink);
    if (progress != nullptr &&
        !progress(progress_context, ++done, items_.size())) {
      return absl::CancelledError("stopped by progress");
    }
  }
  return absl::OkStatus();
}

// The items of one stream of a thread.
class MemoryTrace::StreamItems final : public logformat::RunSource {
 public:
  explicit StreamItems(const std::vector<Item>& items) : items_(items) {}
  void Add(std::size_t item) { places_.push_back(item); }

  std::uint64_t next_ns() const override {
    return next_ < places_.size() ? items_[places_[next_]].time_ns
                                  : ~std::uint64_t{0};
  }
  bool DeliverRuns(std::uint64_t limit_ns, logformat::ItemSink& sink) override {
    const Record* const first = NextRecord();
    std::vector<logformat::ThreadRecord> run;
    for (; next_ns() < limit_ns; ++next_) {
      const Record* const record = NextRecord();
      if (record == nullptr || !IsSame(*record, *first)) break;
      run.push_back(AsOfRun(*record, next_ns()));
    }
    if (!run.empty()) sink.OnThreadRecords(HeadOf(*first), run);
    return next_ns() >= limit_ns;
  }
  // What comes before the item of that number, of one thread, or a loss.
  void DeliverOwn(std::size_t end, logformat::ItemSink& sink) {
    const Record* const first = NextRecord();
    if (first == nullptr) {
      Deliver(items_[places_[next_++]], sink);
      return;
    }
    std::vector<logformat::ThreadRecord> run;
    for (; next_ < places_.size() && places_[next_] < end; ++next_) {
      const Record* const record = NextRecord();
      if (record == nullptr || !IsSame(*record, *first)) break;
      run.push_back(AsOfRun(*record, next_ns()));
    }
    sink.OnThreadRecords(HeadOf(*first), run);
  }

  bool is_delivered(std::size_t item) const {
    return next_ == places_.size() || places_[next_] > item;
  }
  bool is_at_record() const { return NextRecord() != nullptr; }
  logformat::EventRecord head() const { return HeadOf(*NextRecord()); }
  // Up to where they may be held, if so many items are: to the next thread's,
  // or to a loss.
  std::uint64_t LimitAfter(std::size_t count) const {
    const Record* const first = NextRecord();
    for (std::size_t i = next_ + 1; i < places_.size(); ++i) {
      const Item& item = items_[places_[i]];
      const auto* const record = std::get_if<Record>(&item.what);
      if (i - next_ == count || record == nullptr || !IsSame(*record, *first)) {
        return item.time_ns;
      }
    }
    return ~std::uint64_t{0} - 1;
  }

  // While the scheduler has it.
  bool held = false;
  std::uint64_t until_ns = 0;

 private:
  const Record* NextRecord() const {
    return next_ < places_.size()
               ? std::get_if<Record>(&items_[places_[next_]].what)
               : nullptr;
  }
  static bool IsSame(const Record& a, const Record& b) {
    return a.fields.tid == b.fields.tid && a.fields.pid == b.fields.pid;
  }
  static logformat::EventRecord HeadOf(const Record& record) {
    logformat::EventRecord head = record.fields;
    head.counters = nullptr;
    head.present = 0;
    return head;
  }
  static logformat::ThreadRecord AsOfRun(const Record& record,
                                         std::uint64_t time_ns) {
    const bool dump = (record.fields.event_id & logformat::kEventDumpBit) != 0;
    const std::size_t head = 8 + (dump ? 8 * (1 + record.counters->size()) : 0);
    return {time_ns, record.bytes.data(),
            static_cast<std::uint32_t>(record.bytes.size()),
            record.fields.event_id, static_cast<std::uint16_t>(head)};
  }

  const std::vector<Item>& items_;
  std::vector<std::size_t> places_;
  std::size_t next_ = 0;
};

bool MemoryTrace::IsOfCpu(const Item& item) {
  return std::visit(
      [](const auto& what) {
        if constexpr (requires { what.fields; }) {
          return what.fields.stream_class == StreamClass::kCpu;
        } else {
          return what.stream_class == StreamClass::kCpu;
        }
      },
      item.what);
}

std::multimap<std::int32_t, std::uint64_t> MemoryTrace::EndsOfThreads() const {
  std::multimap<std::int32_t, std::uint64_t> ends;
  for (const Item& item : items_) {
    const auto* const record = std::get_if<Record>(&item.what);
    if (record == nullptr || !IsOfCpu(item)) continue;
    const auto event = static_cast<CpuEvent>(record->fields.event_id);
    if (event == CpuEvent::kExit || event == CpuEvent::kFork) {
      logformat::TaskRecord task;
      std::memcpy(&task, record->bytes.data(), sizeof(task));
      ends.emplace(task.tid, item.time_ns);
    } else if (event == CpuEvent::kExec) {
      logformat::CommRecord exec;
      std::memcpy(&exec, record->bytes.data(), sizeof(exec));
      ends.emplace(exec.pid, item.time_ns);
      ends.emplace(exec.tid, item.time_ns);
    }
  }
  return ends;
}

absl::Status MemoryTrace::ReadThreadRuns(logformat::ItemSink& sink,
                                         logformat::ProgressCallback progress,
                                         void* progress_context,
                                         logformat::RunScheduler* scheduler) {
  Sort();
  std::map<std::uint32_t, StreamItems> streams;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (IsOfCpu(items_[i])) continue;
    streams.try_emplace(items_[i].stream, items_).first->second.Add(i);
  }
  // Holds end anywhere, so that they are of any number of intervals.
  std::mt19937 random(static_cast<std::uint32_t>(items_.size()));
  // A thread with the tid of one that has ended has a stream of its own, if it
  // is not in memory.
  const std::multimap<std::int32_t, std::uint64_t> ends = EndsOfThreads();
  const auto hold = [&](StreamItems& stream) {
    stream.until_ns = stream.LimitAfter(1 + random() % 1000);
    for (const std::int32_t id : {stream.head().tid, stream.head().pid}) {
      for (auto [end, last] = ends.equal_range(id); end != last; ++end) {
        if (end->second < stream.next_ns()) continue;
        stream.until_ns = std::min(stream.until_ns, end->second + 1);
      }
    }
    return stream.until_ns > stream.next_ns() &&
           scheduler->Hold(stream, stream.head(), stream.next_ns(),
                           /*exact=*/true, stream.until_ns);
  };
  const auto return_all = [&] {
    if (scheduler == nullptr) return;
    scheduler->ReturnAll();
    for (auto& [number, stream] : streams) stream.held = false;
  };
  // Number of the next item of a CPU.
  const auto end_of_interval = [&](std::size_t i) {
    while (i < items_.size() && !IsOfCpu(items_[i])) ++i;
    return i;
  };
  std::size_t end = 0;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (i >= end) {
      // What follows a loss may depend on what came before it, and so on who
      // delivered what.
      const std::size_t first = IsOfCpu(items_[i]) ? i + 1 : i;
      end = end_of_interval(first);
      if (std::any_of(items_.begin() + static_cast<std::ptrdiff_t>(first),
                      items_.begin() + static_cast<std::ptrdiff_t>(end),
                      [](const Item& item) {
                        return !std::holds_alternative<Record>(item.what);
                      })) {
        if (IsOfCpu(items_[i])) Deliver(items_[i], sink);
        return_all();
        scheduler = nullptr;
        if (IsOfCpu(items_[i])) continue;
      }
    }
    if (IsOfCpu(items_[i])) {
      Deliver(items_[i], sink);
    } else {
      StreamItems& stream = streams.at(items_[i].stream);
      if (stream.held) {
        if (items_[i].time_ns < stream.until_ns) continue;
        if (!scheduler->IsDone(items_[i].stream)) {
          scheduler->WaitFor(items_[i].stream);
        }
        stream.held = false;
      }
      if (stream.is_delivered(i)) continue;
      if (scheduler != nullptr && stream.is_at_record()) {
        stream.held = hold(stream);
      }
      if (!stream.held) stream.DeliverOwn(end, sink);
    }
    if (progress != nullptr && !progress(progress_context, i, items_.size())) {
      return_all();
      return absl::CancelledError("stopped by progress");
    }
  }
  for (auto& [number, stream] : streams) {
    if (stream.held) scheduler->WaitFor(number);
  }
  return absl::OkStatus();
}

}  // namespace countrace::test_support
