#include "tests/rmap/memory_trace.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <random>

#include "logformat/running_thread.h"

namespace countrace::test_support {

using logformat::CpuEvent;
using logformat::StreamClass;

namespace {
constexpr std::uint32_t kCpuStreams = 256;
}  // namespace

void MemoryTrace::AddHook(std::uint32_t id, logformat::HookKind kind,
                          const std::string& provider, const std::string& name,
                          logformat::HookOrigin origin,
                          const std::vector<logformat::PayloadType>& payload) {
  logformat::HookInfo hook;
  hook.id = id;
  hook.kind = kind;
  hook.origin = origin;
  hook.provider = provider;
  hook.name = name;
  hook.payload = payload;
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
                        const Task& task, const std::string& comm,
                        std::uint32_t flags) {
  logformat::StateRecord record{0,     task.pid, task.tid, task.parent_pid,
                                flags, {}};
  std::memcpy(record.comm, comm.data(), std::min<std::size_t>(comm.size(), 16));
  AddLayout(time_ns, cpu, CpuEvent::kProcessState, record);
}

void MemoryTrace::Owner(std::uint64_t time_ns, std::int32_t cpu,
                        const logformat::OwnerRecord& owner) {
  AddLayout(time_ns, cpu, CpuEvent::kOwner, owner);
}

void MemoryTrace::Fault(std::uint64_t time_ns, std::int32_t cpu,
                        const Task& task) {
  AddLayout(time_ns, cpu, CpuEvent::kFault,
            logformat::FaultRecord{0, task.pid, task.tid, 0x1000});
}

void MemoryTrace::Unknown(std::uint64_t time_ns, std::int32_t cpu,
                          std::uint16_t event) {
  AddLayout(time_ns, cpu, static_cast<CpuEvent>(event), std::uint64_t{0});
}

void MemoryTrace::KernelHook(std::uint64_t time_ns, std::int32_t cpu,
                             const Hook& hook,
                             const std::optional<Counters>& counters) {
  std::uint32_t event = hook.hook_id * 2 + (hook.exit ? 1 : 0);
  if (counters) event |= logformat::kEventDumpBit;
  const logformat::KernelHookRecord record{
      0, logformat::PackDispatch(static_cast<std::uint32_t>(hook.tid),
                                 static_cast<std::uint32_t>(hook.pid),
                                 hook.number)};
  const struct {
    logformat::KernelHookRecord head;
    std::uint64_t returned;
  } layout{record, hook.returned};
  AddCpuRecord(time_ns, cpu, static_cast<CpuEvent>(event), &layout,
               hook.exit ? sizeof(layout) : sizeof(record),
               counters ? &*counters : nullptr);
  std::vector<std::byte>& bytes = std::get<Record>(items_.back().what).bytes;
  const std::size_t head = bytes.size();
  bytes.resize(head + 8 * hook.payload.size());
  if (!hook.payload.empty()) {
    std::memcpy(bytes.data() + head, hook.payload.data(),
                8 * hook.payload.size());
  }
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
  // In the form of a packet (FORMAT.md, 4.2).
  const std::size_t head = HeadBytes(record);
  record.bytes.resize(head + 8 * hook.payload.size());
  if (dump) {
    const logformat::ThreadDump values{dump->mmcr, dump->present};
    std::memcpy(record.bytes.data() + 8, &values, sizeof(values));
    std::memcpy(record.bytes.data() + 16, dump->counters.data(),
                8 * dump->counters.size());
  }
  if (!hook.payload.empty()) {
    std::memcpy(record.bytes.data() + head, hook.payload.data(),
                8 * hook.payload.size());
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
                              const std::string& reason, std::uint64_t end_ns) {
  logformat::DiscardedPackets loss{};
  loss.stream = CpuStream(cpu);
  loss.stream_class = StreamClass::kCpu;
  loss.cpu = cpu;
  loss.pid = loss.tid = -1;
  loss.begin_ns = begin_ns;
  loss.end_ns = std::max(begin_ns, end_ns);
  loss.packets = 1;
  loss.reason = reason;
  items_.push_back({begin_ns, loss.stream, std::move(loss)});
}

std::map<std::uint32_t, std::vector<std::uint64_t>> MemoryTrace::RecordTimes()
    const {
  std::map<std::uint32_t, std::vector<std::uint64_t>> times;
  for (const Item& item : items_) times[item.stream].push_back(item.time_ns);
  for (auto& [stream, of_stream] : times) {
    std::sort(of_stream.begin(), of_stream.end());
  }
  return times;
}

std::uint64_t MemoryTrace::LeaveOutCalls(std::uint32_t seed) {
  std::mt19937 random(seed);
  Sort();
  const auto dispatch = [](const Item& item) -> const Record* {
    const auto* record = std::get_if<Record>(&item.what);
    return record != nullptr &&
                   record->fields.stream_class == StreamClass::kCpu &&
                   record->fields.event_id ==
                       static_cast<std::uint16_t>(CpuEvent::kDispatch)
               ? record
               : nullptr;
  };
  const auto is_call = [this](const Item& item) {
    const auto* record = std::get_if<Record>(&item.what);
    if (record == nullptr ||
        !logformat::IsKernelHookEvent(record->fields.event_id)) {
      return false;
    }
    const logformat::HookInfo* const hook =
        info_.FindHook(logformat::EventHookId(record->fields.event_id));
    return hook != nullptr && hook->origin == logformat::HookOrigin::kKernel &&
           hook->kind == logformat::HookKind::kSegment;
  };
  std::vector<Item> kept;
  std::uint64_t removed = 0;
  std::size_t stays = 0;
  bool left_out = false;
  for (Item& item : items_) {
    if (left_out && is_call(item)) {
      if (stays == 0) {
        ++removed;
        continue;
      }
      --stays;
    }
    kept.push_back(std::move(item));
    const Record* const record = dispatch(kept.back());
    if (record == nullptr || random() % 16 != 0) continue;
    left_out = !left_out;
    stays = random() % 4;
    std::uint64_t ids = 0;
    std::memcpy(&ids, record->bytes.data() + 8, sizeof(ids));
    const logformat::CountersRecord layout{
        0,
        static_cast<std::uint32_t>(
            left_out ? logformat::CountersReason::kCallsLeftOut
                     : logformat::CountersReason::kCallsRecorded),
        static_cast<std::uint32_t>(ids >> 24 & 0xffffff)};
    Item mark = kept.back();
    auto& said = std::get<Record>(mark.what);
    said.fields.event_id = static_cast<std::uint16_t>(CpuEvent::kCounters);
    said.bytes.resize(sizeof(layout));
    std::memcpy(said.bytes.data(), &layout, sizeof(layout));
    said.kept = true;  // the others' marks say it, too
    // The switch is counted behind its record.
    for (std::size_t i = 0; i < info_.cpu_events.size(); ++i) {
      if (said.counters && info_.cpu_events[i] == "context-switches") {
        ++(*said.counters)[i];
      }
    }
    kept.push_back(std::move(mark));
  }
  items_ = std::move(kept);
  info_.not_recorded.push_back({logformat::kLeftOut, 1, "left out"});
  return removed;
}

void MemoryTrace::CutStream(std::int32_t cpu, std::size_t records) {
  const std::uint32_t stream = CpuStream(cpu);
  const auto is_of_cpu = [stream](const Item& item) {
    return item.stream == stream;
  };
  const auto first = std::find_if(items_.begin(), items_.end(), is_of_cpu);
  for (auto item = items_.end(); item != first + 1 && records > 0;) {
    if (!is_of_cpu(*--item)) continue;
    if (std::get<Record>(item->what).kept) return;
    item = items_.erase(item);
    --records;
  }
}

void MemoryTrace::Overwrite(const std::map<std::uint32_t, Hole>& holes) {
  Sort();
  std::vector<Item> kept;
  std::map<std::uint32_t, logformat::DiscardedEvents> losses;
  std::map<std::uint32_t, std::uint64_t> named_ns;  // of CPUs, behind the hole
  std::uint64_t known_ns = 0;
  for (Item& item : items_) {
    const auto hole = holes.find(item.stream);
    const auto* record = std::get_if<Record>(&item.what);
    if (record == nullptr || hole == holes.end() ||
        item.time_ns <= hole->second.first) {
      kept.push_back(std::move(item));
      continue;
    }
    const logformat::EventRecord& fields = record->fields;
    if (item.time_ns > hole->second.second) {
      if (fields.stream_class == StreamClass::kCpu &&
          !named_ns.contains(item.stream) &&
          logformat::RunningTid(info_, fields.event_id, record->bytes)) {
        named_ns[item.stream] = item.time_ns;
      }
      kept.push_back(std::move(item));
      continue;
    }
    logformat::DiscardedEvents& loss = losses[item.stream];
    loss.stream = item.stream;
    loss.stream_class = fields.stream_class;
    loss.cpu = fields.cpu;
    loss.pid = fields.pid;
    loss.tid = fields.tid;
    loss.begin_ns = hole->second.first;
    loss.end_ns = item.time_ns;
    loss.overwritten = true;
    ++loss.count;
    ++loss.by_cause[static_cast<std::size_t>(
        logformat::DiscardCause::kTraceFull)];
    known_ns = std::max(known_ns, item.time_ns);
  }
  for (const auto& [stream, time_ns] : named_ns) {
    if (losses.contains(stream)) known_ns = std::max(known_ns, time_ns);
  }
  for (const auto& [stream, loss] : losses) {
    kept.push_back({loss.begin_ns, stream, loss});
  }
  items_ = std::move(kept);
  if (!losses.empty()) complete_from_ns_ = known_ns + 1;
}

void MemoryTrace::Sort() {
  std::stable_sort(items_.begin(), items_.end(),
                   [](const Item& a, const Item& b) {
                     return a.time_ns != b.time_ns ? a.time_ns < b.time_ns
                                                   : a.stream < b.stream;
                   });
}

std::size_t MemoryTrace::HeadBytes(const Record& record) {
  return 8 + (record.counters ? 8 * (1 + record.counters->size()) : 0);
}

void MemoryTrace::Deliver(const Item& item, logformat::ItemSink& sink) const {
  if (const auto* record = std::get_if<Record>(&item.what)) {
    logformat::EventRecord out = record->fields;
    std::vector<std::byte> bytes;
    std::optional<Counters> counters;
    if (!keeps_records_) {
      bytes = record->bytes;
      counters = record->counters;
    }
    out.bytes = keeps_records_ ? std::span<const std::byte>(record->bytes)
                               : std::span<const std::byte>(bytes);
    const auto& values = keeps_records_ ? record->counters : counters;
    out.counters = values ? values->data() : nullptr;
    if (out.stream_class == StreamClass::kThread) {
      out.payload = out.bytes.subspan(HeadBytes(*record));
    }
    sink.OnRecord(out);
    // What was not copied is seen to be wrong.
    std::fill(bytes.begin(), bytes.end(), std::byte{0xa5});
    if (counters) std::fill(counters->begin(), counters->end(), 0);
  } else if (const auto* events =
                 std::get_if<logformat::DiscardedEvents>(&item.what)) {
    sink.OnDiscardedEvents(*events);
  } else {
    sink.OnDiscardedPackets(std::get<logformat::DiscardedPackets>(item.what));
  }
}

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

absl::Status MemoryTrace::Read(logformat::ItemSink& sink,
                               const logformat::ProgressCallback& progress) {
  Sort();
  const bool runs = keeps_records_ && sink.TakesThreadRuns();
  for (std::size_t i = 0; i < items_.size();) {
    std::size_t end = i + 1;
    if (runs && !IsOfCpu(items_[i])) {
      while (end < items_.size() && !IsOfCpu(items_[end])) ++end;
      DeliverRuns(i, end, sink);
    } else {
      Deliver(items_[i], sink);
    }
    i = end;
    if (progress != nullptr && !progress({i, items_.size()})) {
      return absl::CancelledError("stopped by progress");
    }
  }
  return absl::OkStatus();
}

void MemoryTrace::DeliverRuns(std::size_t begin, std::size_t end,
                              logformat::ItemSink& sink) const {
  std::vector<bool> delivered(end - begin);
  for (std::size_t i = begin; i < end; ++i) {
    if (delivered[i - begin]) continue;
    const auto* const first = std::get_if<Record>(&items_[i].what);
    if (first == nullptr) {
      Deliver(items_[i], sink);
      continue;
    }
    std::vector<logformat::ThreadRecord> run;
    for (std::size_t k = i; k < end; ++k) {
      if (items_[k].stream != items_[i].stream) continue;
      const auto* const record = std::get_if<Record>(&items_[k].what);
      // A loss, or a record of another thread.
      if (record == nullptr || record->fields.tid != first->fields.tid ||
          record->fields.pid != first->fields.pid) {
        break;
      }
      run.push_back({items_[k].time_ns, record->bytes.data(),
                     static_cast<std::uint32_t>(record->bytes.size()),
                     record->fields.event_id,
                     static_cast<std::uint16_t>(HeadBytes(*record))});
      delivered[k - begin] = true;
    }
    logformat::EventRecord record_head = first->fields;
    record_head.counters = nullptr;
    record_head.present = 0;
    sink.OnThreadRecords(record_head, run);
  }
}

}  // namespace countrace::test_support
