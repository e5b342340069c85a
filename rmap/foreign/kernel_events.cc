#include "rmap/foreign/kernel_events.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "absl/strings/str_format.h"
#include "rmap/foreign/counter_names.h"

namespace countrace::rmap::foreign {

using logformat::CpuEvent;
using logformat::HookKind;
using logformat::HookOrigin;

namespace {

// Order of the kernel's enum (include/linux/interrupt.h).
constexpr std::string_view kSoftirqs[] = {
    "HI",       "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
    "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};
constexpr std::uint64_t kTidMask = 0xffffff;
constexpr std::int64_t kLttngKernelThread = 1;  // lttng_statedump, type

template <typename T>
void Store(const T& value, std::string& out) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

// `prev_state` of sched_switch (include/trace/events/sched.h).
std::uint16_t SwitchStateOf(std::int64_t state) {
  if (state >= 0x100) return logformat::kSwitchPreempted;
  if (state <= 0) return logformat::kSwitchRunnable;
  if ((state & 0x30) != 0) return logformat::kSwitchDead;
  if ((state & 0xc0) != 0) return logformat::kSwitchOther;
  return static_cast<std::uint16_t>(state & 0x0f);
}

struct KnownEvent {
  std::string_view name;
  EventKind kind;
  std::vector<const char*> fields;  // by role
};

// Names and fields of lttng-modules 2.13, and older names of the same.
const std::vector<KnownEvent>& KnownEvents() {
  static const auto& known = *new std::vector<KnownEvent>{
      {"sched_switch",
       EventKind::kSwitch,
       {"prev_tid", "next_tid", "prev_state", "prev_comm", "next_comm"}},
      {"sched_waking", EventKind::kWaking, {"tid", "target_cpu"}},
      {"sched_wakeup", EventKind::kWaking, {"tid", "target_cpu"}},
      {"sched_wakeup_new", EventKind::kWaking, {"tid", "target_cpu"}},
      {"sched_process_fork",
       EventKind::kFork,
       {"child_pid", "child_tid", "parent_pid", "parent_tid", "child_comm"}},
      {"sched_process_exec", EventKind::kExec, {"tid", "old_tid", "filename"}},
      {"sched_process_exit", EventKind::kProcessExit, {"tid", "comm"}},
      {"task_rename", EventKind::kComm, {"tid", "newcomm"}},
      {"lttng_statedump_process_state",
       EventKind::kProcessState,
       {"tid", "pid", "ppid", "type", "name"}},
      {"irq_handler_entry", EventKind::kInterruptEnter, {"irq", "name"}},
      {"irq_handler_exit", EventKind::kInterruptExit, {"irq"}},
      {"irq_softirq_entry", EventKind::kInterruptEnter, {"vec"}},
      {"irq_softirq_exit", EventKind::kInterruptExit, {"vec"}},
      {"x86_exceptions_page_fault_user", EventKind::kPageFault, {"address"}},
      {"x86_exceptions_page_fault_kernel", EventKind::kPageFault, {"address"}},
      {"page_fault_user", EventKind::kPageFault, {"address"}},
      {"page_fault_kernel", EventKind::kPageFault, {"address"}},
  };
  return known;
}

}  // namespace

void KernelEvents::Classify(const bt_event_class& event_class,
                            EventPlan& plan) {
  const std::string_view name = plan.name;
  plan.kind = EventKind::kKernelPoint;
  std::vector<const char*> fields;
  constexpr std::string_view kVectors = "x86_irq_vectors_";
  for (const KnownEvent& known : KnownEvents()) {
    if (known.name != name) continue;
    plan.kind = known.kind;
    fields = known.fields;
    plan.provider = name.starts_with("irq_softirq") ? "softirq" : "irq";
  }
  for (const bool compat : {false, true}) {
    std::string_view rest = name;
    if (compat) {
      if (!rest.starts_with("compat_")) continue;
      rest.remove_prefix(7);
    }
    if (rest.starts_with("syscall_entry_"))
      plan.kind = EventKind::kSyscallEnter;
    if (rest.starts_with("syscall_exit_")) {
      plan.kind = EventKind::kSyscallExit;
      fields = {"ret"};
    }
    if (rest.starts_with("syscall_e")) {
      plan.provider = compat ? "syscall32" : "syscall";
    }
  }
  if (name.starts_with(kVectors)) {
    plan.provider = "irq";
    plan.named_by_number = true;
    if (name.ends_with("_entry")) plan.kind = EventKind::kInterruptEnter;
    if (name.ends_with("_exit")) plan.kind = EventKind::kInterruptExit;
    fields = {"vector"};
  }
  if (name.starts_with("lttng_statedump_") &&
      plan.kind == EventKind::kKernelPoint) {
    plan.kind = EventKind::kIgnored;
  }
  const bt_field_class* payload =
      bt_event_class_borrow_payload_field_class_const(&event_class);
  for (const char* field : fields) {
    // Payload only: contexts are called tid and pid, too.
    const auto member = MemberIndex(payload, field);
    plan.fields.push_back(
        member ? std::optional(FieldPlace{FieldScope::kPayload, *member})
               : std::nullopt);
  }
}

void KernelEvents::SetClasses(
    const std::vector<const bt_event_class*>& classes) {
  const bt_event_class* sched_switch = nullptr;
  for (const bt_event_class* event_class : classes) {
    const char* text = bt_event_class_get_name(event_class);
    const std::string_view name = text == nullptr ? "" : text;
    if (name == "sched_switch") sched_switch = event_class;
    has_waking_ |= name == "sched_waking";
    has_wakeup_ |= name == "sched_wakeup" || name == "sched_waking";
    has_faults_ |= name.find("page_fault_user") != name.npos;
    has_process_state_ |= name == "lttng_statedump_process_state";
    has_fork_ |= name == "sched_process_fork";
  }
  has_switch_ = sched_switch != nullptr;
  logformat::TraceInfo& info = output_.description().info;
  if (!has_switch_) {
    if (!classes.empty()) {
      info.not_known.push_back(
          "who ran when (no sched_switch in the trace): on-CPU times, "
          "dispatches and waiting are absent, not 0");
    }
    return;
  }
  const bt_field_class* contexts[] = {
      bt_stream_class_borrow_event_common_context_field_class_const(
          bt_event_class_borrow_stream_class_const(sched_switch)),
      bt_event_class_borrow_specific_context_field_class_const(sched_switch)};
  std::vector<std::string> events;
  for (const bt_field_class* context : contexts) {
    for (std::string& field : CounterContexts(context, kCpuCounterPrefix)) {
      if (perf_fields_.size() + 3 == logformat::kMaxEvents) break;
      events.push_back(EventOfContext(field));
      perf_fields_.push_back(std::move(field));
    }
  }
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
  own_faults_ = has_faults_ && own("page-faults");
  std::string unsure;
  for (const std::string& event : events) {
    info.cpu_events.push_back(event);
    if (!IsSoftwareEvent(event)) unsure += (unsure.empty() ? "" : ", ") + event;
  }
  if (!unsure.empty()) {
    info.not_known.push_back(
        "whether the counters of " + unsure +
        " ran all the time (LTTng records no running time): if they took turns "
        "with others, the counts are lower bounds");
  }
  if (!has_wakeup_) {
    info.not_known.push_back("who woke whom (no sched_waking in the trace)");
  } else if (!has_waking_) {
    info.not_known.push_back(
        "who woke whom, surely: there is sched_wakeup and no sched_waking, and "
        "the kernel may do it on the CPU of who is woken");
  }
  if (!has_process_state_) {
    info.not_known.push_back(
        "processes and names of threads that began before the recording and "
        "did not run (no lttng_statedump_process_state)");
  }
}

KernelEvents::Cpu& KernelEvents::CpuOf(std::int32_t number,
                                       std::uint64_t time_ns) {
  Cpu& cpu = cpus_[number];
  if (cpu.stream == nullptr) {
    cpu.number = number;
    cpu.stream = &output_.Cpu(number);
    cpu.perf.resize(perf_fields_.size(), 0);
    // With counters of contexts the books begin at their first values.
    if (has_switch_ && perf_fields_.empty()) {
      Begin(cpu, time_ns);
    } else if (!has_switch_) {
      cpu.flushed = true;
    }
  }
  cpu.last_ns = std::max(cpu.last_ns, time_ns);
  return cpu;
}

void KernelEvents::Emit(Cpu& cpu, std::uint16_t event_id, std::uint64_t time_ns,
                        std::string_view body, bool needs_tid, bool is_begin) {
  if (cpu.flushed) {
    output_.Append(*cpu.stream, event_id, time_ns,
                   std::as_bytes(std::span(body)));
    return;
  }
  if (cpu.pending.size() >= kMaxPending) {
    // Nobody was switched for so long; who it is will never be known.
    ++too_many_pending_;
    Flush(cpu, -1);
    Emit(cpu, event_id, time_ns, body, needs_tid, is_begin);
    return;
  }
  cpu.pending.push_back(
      {event_id, time_ns, std::string(body), needs_tid, is_begin});
}

void KernelEvents::Flush(Cpu& cpu, std::int32_t running) {
  cpu.flushed = true;
  cpu.current = running;
  for (Pending& record : cpu.pending) {
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

void KernelEvents::Begin(Cpu& cpu, std::uint64_t time_ns) {
  cpu.begun = true;
  cpu.begin_ns = time_ns;
  std::string body;
  Store(static_cast<std::uint32_t>(logformat::CountersReason::kBegin), body);
  Store(static_cast<std::uint32_t>(std::max(cpu.current, 0)), body);
  AppendDump(cpu, time_ns, body);
  Emit(cpu, static_cast<std::uint16_t>(CpuEvent::kCounters), time_ns, body,
       /*needs_tid=*/false, /*is_begin=*/true);
}

void KernelEvents::AppendDump(const Cpu& cpu, std::uint64_t time_ns,
                              std::string& out) {
  if (own_clock_) Store(time_ns - std::min(cpu.begin_ns, time_ns), out);
  if (own_switches_) Store(cpu.switches, out);
  if (own_faults_) Store(cpu.faults, out);
  for (const std::uint64_t value : cpu.perf) Store(value, out);
}

bool KernelEvents::TakeCounters(Cpu& cpu, const SourceEvent& source,
                                const EventPlan& plan) {
  if (perf_fields_.empty() || plan.counters.size() != perf_fields_.size()) {
    return false;
  }
  for (const CounterPlace& counter : plan.counters) {
    const auto value = IntegerOf(FieldAt(source.event, counter.field));
    if (!value) return false;
    cpu.perf[counter.slot - own_counters_] = static_cast<std::uint64_t>(*value);
  }
  cpu.counted_ns = source.time_ns;
  if (!cpu.begun) Begin(cpu, source.time_ns);
  return true;
}

std::int32_t KernelEvents::PidOf(std::int32_t tid) const {
  if (tid == 0) return 0;
  const auto found = pids_.find(tid);
  return found == pids_.end() ? tid : found->second;
}

// Thread, process and number, as a kernel hook's record begins.
std::uint64_t KernelEvents::Ids(const Cpu& cpu, std::uint64_t number) const {
  std::uint64_t ids = (number & 0xffff) << 48;
  if (cpu.current >= 0) {
    ids |= static_cast<std::uint64_t>(cpu.current) & kTidMask;
    ids |= (static_cast<std::uint64_t>(PidOf(cpu.current)) & kTidMask) << 24;
  }
  return ids;
}

void KernelEvents::EmitComm(Cpu& cpu, CpuEvent event, std::uint64_t time_ns,
                            std::int32_t tid, std::string_view comm) {
  if (tid <= 0) return;
  logformat::CommRecord record{};
  const auto pid = pids_.find(tid);
  record.pid = pid == pids_.end() ? -1 : pid->second;
  record.tid = tid;
  comm = comm.substr(0, sizeof(record.comm) - 1);
  std::memcpy(record.comm, comm.data(), comm.size());
  std::string body;
  Store(record, body);
  Emit(cpu, static_cast<std::uint16_t>(event), time_ns,
       std::string_view(body).substr(sizeof(record.header)));
}

void KernelEvents::NoteComm(Cpu& cpu, std::uint64_t time_ns, std::int32_t tid,
                            const bt_field* comm) {
  if (comm == nullptr || tid <= 0 ||
      bt_field_get_class_type(comm) != BT_FIELD_CLASS_TYPE_STRING) {
    return;
  }
  const std::string_view text = TextOf(*comm).substr(0, 15);
  std::string& known = comms_[tid];
  if (known == text) return;
  known = text;
  EmitComm(cpu, CpuEvent::kComm, time_ns, tid, text);
}

void KernelEvents::OnSwitch(Cpu& cpu, const SourceEvent& source,
                            const EventPlan& plan) {
  const auto prev = plan.Field(source.event, 0);
  const auto next = plan.Field(source.event, 1);
  if (!prev || !next) return;
  const auto prev_tid = static_cast<std::int32_t>(*prev);
  const auto next_tid = static_cast<std::int32_t>(*next);
  if (!cpu.flushed) Flush(cpu, prev_tid);
  const auto comm = [&](std::size_t role) {
    return plan.fields[role] ? FieldAt(source.event, *plan.fields[role])
                             : nullptr;
  };
  NoteComm(cpu, source.time_ns, prev_tid, comm(3));
  NoteComm(cpu, source.time_ns, next_tid, comm(4));
  body_.clear();
  Store(logformat::PackDispatch(
            static_cast<std::uint32_t>(prev_tid),
            static_cast<std::uint32_t>(next_tid),
            SwitchStateOf(plan.Field(source.event, 2).value_or(0))),
        body_);
  AppendDump(cpu, source.time_ns, body_);
  Emit(cpu, static_cast<std::uint16_t>(CpuEvent::kDispatch), source.time_ns,
       body_);
  // A dispatch owns the switch that began it.
  ++cpu.switches;
  cpu.current = next_tid;
  cpu.interrupts.clear();
}

void KernelEvents::OnTask(Cpu& cpu, const SourceEvent& source,
                          const EventPlan& plan) {
  const auto number = [&](std::size_t role) {
    return static_cast<std::int32_t>(
        plan.Field(source.event, role).value_or(-1));
  };
  const auto text = [&](std::size_t role) -> std::string {
    const bt_field* field =
        plan.fields[role] ? FieldAt(source.event, *plan.fields[role]) : nullptr;
    if (field == nullptr ||
        bt_field_get_class_type(field) != BT_FIELD_CLASS_TYPE_STRING) {
      return "";
    }
    return std::string(TextOf(*field));
  };
  const auto emit = [&](CpuEvent event, const auto& record) {
    std::string body;
    Store(record, body);
    Emit(cpu, static_cast<std::uint16_t>(event), source.time_ns,
         std::string_view(body).substr(sizeof(record.header)));
  };
  switch (plan.kind) {
    case EventKind::kFork: {
      logformat::TaskRecord fork{};
      fork.tid = number(1);
      fork.pid = plan.fields[0] ? number(0) : fork.tid;
      fork.parent_tid = number(3);
      fork.parent_pid = plan.fields[2] ? number(2) : PidOf(fork.parent_tid);
      if (fork.tid <= 0) return;
      pids_[fork.tid] = fork.pid;
      if (fork.parent_tid > 0) pids_[fork.parent_tid] = fork.parent_pid;
      comms_[fork.tid] = text(4);
      emit(CpuEvent::kFork, fork);
      return;
    }
    case EventKind::kExec: {
      const std::int32_t tid = number(0);
      const std::string path = text(2);
      // As the kernel names it.
      const std::string comm = path.substr(path.rfind('/') + 1).substr(0, 15);
      if (tid <= 0) return;
      if (plan.fields[1] && number(1) > 0 && number(1) != tid &&
          cpu.current == number(1)) {
        cpu.current = tid;
      }
      pids_[tid] = PidOf(tid);
      comms_[tid] = comm;
      EmitComm(cpu, CpuEvent::kExec, source.time_ns, tid, comm);
      return;
    }
    case EventKind::kProcessExit: {
      logformat::TaskRecord exit{};
      exit.tid = number(0);
      if (exit.tid <= 0) return;
      exit.pid = PidOf(exit.tid);
      emit(CpuEvent::kExit, exit);
      return;
    }
    case EventKind::kProcessState: {
      logformat::StateRecord state{};
      state.tid = number(0);
      state.pid = plan.fields[1] ? number(1) : state.tid;
      state.parent_pid = std::max(number(2), 0);
      if (state.tid <= 0) return;
      if (plan.Field(source.event, 3) == kLttngKernelThread) {
        state.flags = logformat::kStateKernelThread;
      }
      const std::string comm = text(4).substr(0, 15);
      std::memcpy(state.comm, comm.data(), comm.size());
      pids_[state.tid] = state.pid;
      comms_[state.tid] = comm;
      emit(CpuEvent::kProcessState, state);
      return;
    }
    default:
      return;
  }
}

std::uint32_t KernelEvents::HookOf(HookOrigin origin, HookKind kind,
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
  hook.location = "LTTng kernel event";
  const std::uint32_t id = output_.AddHook(std::move(hook));
  hooks_.emplace(key, id);
  return id;
}

void KernelEvents::OnHook(Cpu& cpu, const SourceEvent& source,
                          const EventPlan& plan, std::uint32_t hook, bool exit,
                          std::uint64_t number) {
  if (hook == 0) {
    ++unhooked_;
    return;
  }
  const bool dump = plan.counters.size() == perf_fields_.size() &&
                    !perf_fields_.empty() && cpu.begun;
  body_.clear();
  Store(Ids(cpu, number), body_);
  if (dump) AppendDump(cpu, source.time_ns, body_);
  if (exit) {
    Store(plan.kind == EventKind::kSyscallExit
              ? plan.Field(source.event, 0).value_or(0)
              : std::int64_t{0},
          body_);
  }
  const std::uint32_t id = hook * 2 + (exit ? logformat::kEventExitBit : 0u) +
                           (dump ? logformat::kEventDumpBit : 0u);
  if (cpu.flushed && cpu.current < 0) ++whose_unknown_;
  Emit(cpu, static_cast<std::uint16_t>(id), source.time_ns, body_,
       /*needs_tid=*/cpu.current < 0);
}

void KernelEvents::OnInterrupt(Cpu& cpu, const SourceEvent& source,
                               const EventPlan& plan) {
  const auto number =
      static_cast<std::uint64_t>(plan.Field(source.event, 0).value_or(0));
  const bool exit = plan.kind == EventKind::kInterruptExit;
  std::string name;
  if (plan.named_by_number) {  // x86_irq_vectors_local_timer_entry
    name = plan.name.substr(std::string_view("x86_irq_vectors_").size());
    name.resize(name.rfind('_'));
  } else if (plan.provider == std::string_view("softirq")) {
    name = number < std::size(kSoftirqs) ? std::string(kSoftirqs[number])
                                         : absl::StrFormat("%d", number);
  } else {
    // The exit does not name the handler: it is the one open on its line.
    name = absl::StrFormat("%d", number);
    if (!exit && plan.fields.size() > 1 && plan.fields[1]) {
      const bt_field* text = FieldAt(source.event, *plan.fields[1]);
      if (text != nullptr &&
          bt_field_get_class_type(text) == BT_FIELD_CLASS_TYPE_STRING) {
        name += ':';
        name += TextOf(*text);
      }
    }
  }
  std::uint32_t hook = 0;
  if (exit && plan.provider == std::string_view("irq") &&
      !plan.named_by_number && !cpu.interrupts.empty()) {
    hook = cpu.interrupts.back();
  } else {
    hook =
        HookOf(HookOrigin::kInterrupt, HookKind::kSegment, plan.provider, name);
  }
  if (exit) {
    if (!cpu.interrupts.empty()) cpu.interrupts.pop_back();
  } else {
    cpu.interrupts.push_back(hook);
  }
  OnHook(cpu, source, plan, hook, exit, number);
}

void KernelEvents::OnEvent(const SourceEvent& source, const EventPlan& plan) {
  if (plan.kind == EventKind::kIgnored) return;
  Cpu& cpu = CpuOf(std::max(source.stream.cpu, 0), source.time_ns);
  // Contexts say who runs, and whose thread that is.
  const auto tid = IntegerAt(source.event, plan.tid);
  if (tid && *tid >= 0) {
    if (const auto pid = IntegerAt(source.event, plan.pid); pid && *pid > 0) {
      pids_[static_cast<std::int32_t>(*tid)] = static_cast<std::int32_t>(*pid);
    }
    if (!cpu.flushed) Flush(cpu, static_cast<std::int32_t>(*tid));
    // Without switches they are all there is.
    if (!has_switch_) cpu.current = static_cast<std::int32_t>(*tid);
  }
  TakeCounters(cpu, source, plan);
  switch (plan.kind) {
    case EventKind::kSwitch:
      OnSwitch(cpu, source, plan);
      return;
    case EventKind::kWaking: {
      if (has_waking_ && plan.name == "sched_wakeup") return;
      const auto wakee = plan.Field(source.event, 0);
      if (!wakee) return;
      body_.clear();
      const auto target = plan.Field(source.event, 1).value_or(cpu.number);
      Store(
          (static_cast<std::uint64_t>(*wakee) & kTidMask) << 24 |
              (static_cast<std::uint64_t>(target) & 0xffff) << 48 |
              (static_cast<std::uint64_t>(std::max(cpu.current, 0)) & kTidMask),
          body_);
      // The waker's bits are those of a hook's thread; it has no pid.
      if (!cpu.flushed) {
        Emit(cpu, static_cast<std::uint16_t>(CpuEvent::kWakeup), source.time_ns,
             body_);
        cpu.pending.back().is_wakeup = true;
      } else {
        Emit(cpu, static_cast<std::uint16_t>(CpuEvent::kWakeup), source.time_ns,
             body_);
      }
      return;
    }
    case EventKind::kFork:
    case EventKind::kExec:
    case EventKind::kProcessExit:
    case EventKind::kProcessState:
      OnTask(cpu, source, plan);
      return;
    case EventKind::kComm:
      NoteComm(
          cpu, source.time_ns,
          static_cast<std::int32_t>(plan.Field(source.event, 0).value_or(0)),
          plan.fields[1] ? FieldAt(source.event, *plan.fields[1]) : nullptr);
      return;
    case EventKind::kSyscallEnter:
    case EventKind::kSyscallExit: {
      const bool exit = plan.kind == EventKind::kSyscallExit;
      const std::string_view marker = exit ? "syscall_exit_" : "syscall_entry_";
      const std::string name =
          plan.name.substr(plan.name.find(marker) + marker.size());
      OnHook(
          cpu, source, plan,
          HookOf(HookOrigin::kKernel, HookKind::kSegment, plan.provider, name),
          exit, 0);
      return;
    }
    case EventKind::kInterruptEnter:
    case EventKind::kInterruptExit:
      OnInterrupt(cpu, source, plan);
      return;
    case EventKind::kPageFault: {
      ++cpu.faults;
      if (cpu.current < 0) return;  // counted; nobody knows for whom
      logformat::FaultRecord fault{};
      fault.tid = cpu.current;
      fault.pid = PidOf(cpu.current);
      fault.address =
          static_cast<std::uint64_t>(plan.Field(source.event, 0).value_or(0));
      std::string body;
      Store(fault, body);
      Emit(cpu, static_cast<std::uint16_t>(CpuEvent::kFault), source.time_ns,
           std::string_view(body).substr(sizeof(fault.header)));
      return;
    }
    case EventKind::kKernelPoint:
      OnHook(cpu, source, plan,
             HookOf(HookOrigin::kKernel, HookKind::kPoint, "kernel", plan.name),
             false, 0);
      return;
    default:
      return;
  }
}

void KernelEvents::OnPacketBegin(const SourceStream& stream,
                                 std::uint64_t time_ns) {
  if (stream.cpu >= 0) CpuOf(stream.cpu, time_ns);
}

void KernelEvents::OnPacketEnd(const SourceStream& stream,
                               std::uint64_t time_ns) {
  if (stream.cpu < 0) return;
  Cpu& cpu = CpuOf(stream.cpu, time_ns);
  cpu.end_ns = std::max(cpu.end_ns, time_ns);
}

void KernelEvents::OnLoss(const SourceStream& stream, std::uint64_t records,
                          std::uint64_t packets, std::uint64_t begin_ns,
                          std::uint64_t end_ns) {
  Cpu& cpu = CpuOf(std::max(stream.cpu, 0), begin_ns);
  // Who ran before the first switch cannot be told across a loss.
  if (!cpu.flushed) Flush(cpu, -1);
  cpu.current = -1;
  output_.Lose(*cpu.stream, logformat::DiscardCause::kKernelRingFull, records,
               packets, begin_ns, end_ns);
}

void KernelEvents::Finish() {
  bool tail = false;
  for (auto& [number, cpu] : cpus_) {
    if (!cpu.flushed) Flush(cpu, cpu.current);
    if (!has_switch_ || !cpu.begun) continue;
    // Counters are known up to their last event only.
    const bool all = perf_fields_.empty() || cpu.counted_ns == cpu.last_ns;
    const std::uint64_t end_ns =
        perf_fields_.empty() ? std::max(cpu.end_ns, cpu.last_ns) : cpu.last_ns;
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
        "who ran on %d CPUs at first: they had %d events before a switch",
        too_many_pending_, kMaxPending));
  }
  if (whose_unknown_ != 0) {
    not_known.push_back(absl::StrFormat(
        "whose %d kernel events are: no sched_switch and no context tid says "
        "who ran",
        whose_unknown_));
  }
  if (unhooked_ != 0) {
    not_known.push_back(absl::StrFormat(
        "%d kernel events beyond the %d kinds that a trace can hold", unhooked_,
        logformat::kHookIdMax - logformat::kHookIdKernelMin + 1));
  }
}

}  // namespace countrace::rmap::foreign
