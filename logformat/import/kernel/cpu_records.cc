#include "logformat/import/kernel/cpu_records.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"

namespace countrace::importer {

using logformat::CpuEvent;
using logformat::HookKind;
using logformat::HookOrigin;

namespace {

constexpr std::uint64_t kTidMask = 0xffffff;

template <typename T>
void Store(const T& value, std::string& out) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

}  // namespace

void CpuRecords::HaveSwitches(const std::vector<std::string>& events,
                              bool count_faults) {
  has_switches_ = true;
  logformat::TraceInfo& info = output_.description().info;
  const auto own = [&](const char* name) {
    if (std::find(events.begin(), events.end(), name) != events.end()) {
      return false;
    }
    info.cpu_events.push_back(name);
    ++own_counters_;
    return true;
  };
  own_clock_ = own("task-clock");
  own_switches_ = own("context-switches");
  own_faults_ = count_faults && own("page-faults");
  set_counters_ = events.size();
  info.cpu_events.insert(info.cpu_events.end(), events.begin(), events.end());
}

CpuBooks& CpuRecords::CpuOf(std::int32_t number, std::uint64_t time_ns) {
  CpuBooks& cpu = cpus_[number];
  if (cpu.stream == nullptr) {
    cpu.number = number;
    cpu.stream = &output_.Cpu(number);
    cpu.counts.resize(set_counters_, 0);
    // With given counters the books begin at their first values.
    if (has_switches_ && set_counters_ == 0) {
      Begin(cpu, time_ns);
    } else if (!has_switches_) {
      cpu.flushed = true;
    }
  }
  cpu.last_ns = std::max(cpu.last_ns, time_ns);
  return cpu;
}

void CpuRecords::Until(std::int32_t number, std::uint64_t time_ns) {
  CpuBooks& cpu = CpuOf(number, time_ns);
  cpu.end_ns = std::max(cpu.end_ns, time_ns);
}

void CpuRecords::Emit(CpuBooks& cpu, std::uint16_t event_id,
                      std::uint64_t time_ns, std::string_view body,
                      bool needs_tid, bool is_begin) {
  if (cpu.flushed) {
    output_.Append(*cpu.stream, event_id, time_ns,
                   std::as_bytes(std::span(body)));
    return;
  }
  if (cpu.pending.size() >= kMaxPending) {
    // No switch for so long: the thread stays unknown.
    ++too_many_pending_;
    Flush(cpu, -1);
    Emit(cpu, event_id, time_ns, body, needs_tid, is_begin);
    return;
  }
  cpu.pending.push_back(
      {event_id, time_ns, std::string(body), needs_tid, is_begin});
}

void CpuRecords::Flush(CpuBooks& cpu, std::int32_t running) {
  cpu.flushed = true;
  cpu.current = running;
  for (CpuBooks::Pending& record : cpu.pending) {
    if (record.needs_tid && running >= 0) {
      std::uint64_t ids = 0;
      std::memcpy(&ids, record.body.data(), sizeof(ids));
      ids |= static_cast<std::uint64_t>(running) & kTidMask;
      ids |= (static_cast<std::uint64_t>(PidOf(running)) & kTidMask) << 24;
      std::memcpy(record.body.data(), &ids, sizeof(ids));
    }
    if (record.is_wakeup && running > 0) {
      std::uint64_t tids = 0;
      std::memcpy(&tids, record.body.data(), sizeof(tids));
      tids |= static_cast<std::uint64_t>(running) & kTidMask;
      std::memcpy(record.body.data(), &tids, sizeof(tids));
    }
    if (record.is_begin) {
      const std::uint32_t tid = running < 0
                                    ? logformat::kRunningTidUnknown
                                    : static_cast<std::uint32_t>(running);
      std::memcpy(record.body.data() + sizeof(std::uint32_t), &tid,
                  sizeof(tid));
    }
    output_.Append(*cpu.stream, record.event_id, record.time_ns,
                   std::as_bytes(std::span(record.body)));
  }
  cpu.pending = {};
}

void CpuRecords::Begin(CpuBooks& cpu, std::uint64_t time_ns) {
  cpu.begun = true;
  cpu.begin_ns = time_ns;
  std::string body;
  Store(static_cast<std::uint32_t>(logformat::CountersReason::kBegin), body);
  Store(static_cast<std::uint32_t>(std::max(cpu.current, 0)), body);
  AppendDump(cpu, time_ns, body);
  Emit(cpu, static_cast<std::uint16_t>(CpuEvent::kCounters), time_ns, body,
       /*needs_tid=*/false, /*is_begin=*/true);
}

void CpuRecords::AppendDump(const CpuBooks& cpu, std::uint64_t time_ns,
                            std::string& out) {
  if (own_clock_) Store(time_ns - std::min(cpu.begin_ns, time_ns), out);
  if (own_switches_) Store(cpu.switches, out);
  if (own_faults_) Store(cpu.faults, out);
  for (const std::uint64_t value : cpu.counts) Store(value, out);
}

void CpuRecords::SetCounts(CpuBooks& cpu, std::uint64_t time_ns,
                           std::span<const std::uint64_t> counts) {
  cpu.counts.assign(counts.begin(), counts.end());
  cpu.counted_ns = time_ns;
  if (!cpu.begun) Begin(cpu, time_ns);
}

void CpuRecords::SetRunning(CpuBooks& cpu, std::int32_t tid) {
  if (!cpu.flushed) Flush(cpu, tid);
  // Without switches this is the only information.
  if (!has_switches_) cpu.current = tid;
}

std::int32_t CpuRecords::PidOf(std::int32_t tid) const {
  if (tid == 0) return 0;
  const auto found = pids_.find(tid);
  return found == pids_.end() ? tid : found->second;
}

// Thread, process and number, the first fields of a kernel hook's record.
std::uint64_t CpuRecords::Ids(const CpuBooks& cpu, std::uint64_t number) const {
  std::uint64_t ids = (number & 0xffff) << 48;
  if (cpu.current >= 0) {
    ids |= static_cast<std::uint64_t>(cpu.current) & kTidMask;
    ids |= (static_cast<std::uint64_t>(PidOf(cpu.current)) & kTidMask) << 24;
  }
  return ids;
}

template <typename Record>
void CpuRecords::EmitRecord(CpuBooks& cpu, CpuEvent event,
                            std::uint64_t time_ns, const Record& record) {
  std::string body;
  Store(record, body);
  Emit(cpu, static_cast<std::uint16_t>(event), time_ns,
       std::string_view(body).substr(sizeof(record.header)));
}

void CpuRecords::EmitComm(CpuBooks& cpu, CpuEvent event, std::uint64_t time_ns,
                          std::int32_t tid, std::string_view comm) {
  if (tid <= 0) return;
  logformat::CommRecord record{};
  const auto pid = pids_.find(tid);
  record.pid = pid == pids_.end() ? -1 : pid->second;
  record.tid = tid;
  comm = comm.substr(0, sizeof(record.comm) - 1);
  std::copy(comm.begin(), comm.end(), record.comm);
  EmitRecord(cpu, event, time_ns, record);
}

void CpuRecords::Name(CpuBooks& cpu, std::uint64_t time_ns, std::int32_t tid,
                      std::string_view comm) {
  if (tid <= 0) return;
  comm = comm.substr(0, 15);
  std::string& known = comms_[tid];
  if (known == comm) return;
  known = comm;
  EmitComm(cpu, CpuEvent::kComm, time_ns, tid, comm);
}

void CpuRecords::Switch(CpuBooks& cpu, std::uint64_t time_ns, std::int32_t prev,
                        std::int32_t next, std::uint16_t state) {
  if (!cpu.flushed) Flush(cpu, prev);
  body_.clear();
  Store(logformat::PackDispatch(static_cast<std::uint32_t>(prev),
                                static_cast<std::uint32_t>(next), state),
        body_);
  AppendDump(cpu, time_ns, body_);
  Emit(cpu, static_cast<std::uint16_t>(CpuEvent::kDispatch), time_ns, body_);
  // A dispatch includes the switch that began it.
  ++cpu.switches;
  cpu.current = next;
}

void CpuRecords::SwitchIn(CpuBooks& cpu, std::uint64_t time_ns,
                          std::int32_t prev, std::int32_t next) {
  if (!cpu.flushed) Flush(cpu, prev);
  body_.clear();
  Store(logformat::PackDispatch(static_cast<std::uint32_t>(prev),
                                static_cast<std::uint32_t>(next), 0),
        body_);
  Emit(cpu, static_cast<std::uint16_t>(CpuEvent::kSwitchIn), time_ns, body_);
  cpu.current = next;
}

void CpuRecords::Wake(CpuBooks& cpu, std::uint64_t time_ns, std::int32_t wakee,
                      std::int64_t target_cpu) {
  body_.clear();
  Store((static_cast<std::uint64_t>(wakee) & kTidMask) << 24 |
            (static_cast<std::uint64_t>(target_cpu) & 0xffff) << 48 |
            (static_cast<std::uint64_t>(std::max(cpu.current, 0)) & kTidMask),
        body_);
  Emit(cpu, static_cast<std::uint16_t>(CpuEvent::kWakeup), time_ns, body_);
  // The waker's bits are those of a hook's thread, without a pid.
  if (!cpu.flushed) cpu.pending.back().is_wakeup = true;
}

void CpuRecords::Fork(CpuBooks& cpu, std::uint64_t time_ns,
                      const logformat::TaskRecord& fork,
                      std::string_view comm) {
  if (fork.tid <= 0) return;
  pids_[fork.tid] = fork.pid;
  if (fork.parent_tid > 0) pids_[fork.parent_tid] = fork.parent_pid;
  comms_[fork.tid] = comm;
  EmitRecord(cpu, CpuEvent::kFork, time_ns, fork);
}

void CpuRecords::Exec(CpuBooks& cpu, std::uint64_t time_ns, std::int32_t tid,
                      std::int32_t old_tid, std::string_view comm) {
  if (tid <= 0) return;
  if (old_tid > 0 && old_tid != tid && cpu.current == old_tid) {
    cpu.current = tid;
  }
  pids_[tid] = PidOf(tid);
  comms_[tid] = comm;
  EmitComm(cpu, CpuEvent::kExec, time_ns, tid, comm);
}

void CpuRecords::Exit(CpuBooks& cpu, std::uint64_t time_ns, std::int32_t tid) {
  if (tid <= 0) return;
  logformat::TaskRecord exit{};
  exit.tid = tid;
  exit.pid = PidOf(tid);
  EmitRecord(cpu, CpuEvent::kExit, time_ns, exit);
}

void CpuRecords::State(CpuBooks& cpu, std::uint64_t time_ns,
                       logformat::StateRecord state, std::string_view comm) {
  if (state.tid <= 0) return;
  comm = comm.substr(0, 15);
  std::copy(comm.begin(), comm.end(), state.comm);
  pids_[state.tid] = state.pid;
  comms_[state.tid] = comm;
  EmitRecord(cpu, CpuEvent::kProcessState, time_ns, state);
}

void CpuRecords::Fault(CpuBooks& cpu, std::uint64_t time_ns,
                       std::uint64_t address) {
  ++cpu.faults;
  if (cpu.current < 0) return;  // counted; the thread is unknown
  logformat::FaultRecord fault{};
  fault.tid = cpu.current;
  fault.pid = PidOf(cpu.current);
  fault.address = address;
  EmitRecord(cpu, CpuEvent::kFault, time_ns, fault);
}

std::uint32_t CpuRecords::HookOf(HookOrigin origin, HookKind kind,
                                 const std::string& provider,
                                 const std::string& name) {
  const std::string key = provider + ':' + name;
  const auto found = hooks_.find(key);
  if (found != hooks_.end()) return found->second;
  logformat::HookInfo hook;
  hook.kind = kind;
  hook.origin = origin;
  hook.provider = provider;
  hook.name = name;
  hook.location = location_;
  const std::uint32_t id = output_.AddHook(std::move(hook));
  hooks_.emplace(key, id);
  return id;
}

const std::vector<logformat::PayloadType>& CpuRecords::DeclareValues(
    std::uint32_t hook, const std::vector<logformat::PayloadType>& types,
    const std::vector<std::string>& names) {
  const auto [known, first] = values_.emplace(hook, types);
  if (!first) return known->second;
  for (logformat::HookInfo& info : output_.description().info.hooks) {
    if (info.id != hook) continue;
    info.payload = types;
    logformat::SetPayloadNames(names, info);
  }
  return known->second;
}

void CpuRecords::Call(CpuBooks& cpu, std::uint64_t time_ns,
                      const HookCall& call) {
  if (call.hook == 0) {
    ++unhooked_;
    return;
  }
  const bool dump = call.dump && cpu.begun;
  body_.clear();
  Store(Ids(cpu, call.number), body_);
  if (dump) AppendDump(cpu, time_ns, body_);
  if (call.exit) Store(call.returned, body_);
  body_ += call.values;
  const std::uint32_t id = call.hook * 2 +
                           (call.exit ? logformat::kEventExitBit : 0u) +
                           (dump ? logformat::kEventDumpBit : 0u);
  if (cpu.flushed && cpu.current < 0) ++whose_unknown_;
  Emit(cpu, static_cast<std::uint16_t>(id), time_ns, body_,
       /*needs_tid=*/cpu.current < 0);
}

void CpuRecords::AppendPoint(CpuBooks& cpu, std::uint32_t hook,
                             std::uint64_t time_ns,
                             std::span<const std::byte> body) {
  Emit(cpu, static_cast<std::uint16_t>(hook * 2), time_ns,
       {reinterpret_cast<const char*>(body.data()), body.size()});
}

void CpuRecords::Lose(std::int32_t number, std::uint64_t records,
                      std::uint64_t packets, std::uint64_t begin_ns,
                      std::uint64_t end_ns) {
  CpuBooks& cpu = CpuOf(number, begin_ns);
  // The thread before the first switch is unknown if records were lost.
  if (!cpu.flushed) Flush(cpu, -1);
  cpu.current = -1;
  output_.Lose(*cpu.stream, logformat::DiscardCause::kKernelRingFull, records,
               packets, begin_ns, end_ns);
}

void CpuRecords::Finish() {
  bool tail = false;
  for (auto& [number, cpu] : cpus_) {
    if (!cpu.flushed) Flush(cpu, cpu.current);
    if (!has_switches_ || !cpu.begun) continue;
    // Counters are known only up to their last event.
    const bool all = set_counters_ == 0 || cpu.counted_ns == cpu.last_ns;
    const std::uint64_t end_ns =
        set_counters_ == 0 ? std::max(cpu.end_ns, cpu.last_ns) : cpu.last_ns;
    tail |= !all;
    if (!all) continue;
    std::string body;
    Store(static_cast<std::uint32_t>(logformat::CountersReason::kEnd), body);
    Store(cpu.current < 0 ? logformat::kRunningTidUnknown
                          : static_cast<std::uint32_t>(cpu.current),
          body);
    AppendDump(cpu, end_ns, body);
    Emit(cpu, static_cast<std::uint16_t>(CpuEvent::kCounters), end_ns, body);
  }
  std::vector<std::string>& not_known = output_.description().info.not_known;
  if (tail) {
    not_known.push_back(
        "what CPUs counted after their last event with counters");
  }
  if (too_many_pending_ != 0) {
    not_known.push_back(absl::StrFormat(
        "which thread ran first on %d CPUs: they had %d events before a switch",
        too_many_pending_, kMaxPending));
  }
  if (whose_unknown_ != 0) {
    not_known.push_back(absl::StrFormat(
        "which threads %d kernel events belong to: neither sched_switch nor a "
        "context tid names them",
        whose_unknown_));
  }
  if (unhooked_ != 0) {
    not_known.push_back(absl::StrFormat(
        "%d kernel events beyond the %d kinds that a trace can hold", unhooked_,
        logformat::kHookIdMax - logformat::kHookIdKernelMin + 1));
  }
}

}  // namespace countrace::importer
