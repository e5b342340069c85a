#include "logformat/import/kernel/kernel_events.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_format.h"

namespace countrace::importer {

using logformat::HookKind;
using logformat::HookOrigin;

namespace {

// Order of the kernel's enum (include/linux/interrupt.h).
constexpr std::string_view kSoftirqs[] = {
    "HI",       "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
    "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};
constexpr std::int64_t kLttngKernelThread = 1;  // lttng_statedump, type

// `prev_state` of sched_switch (include/trace/events/sched.h).
std::uint16_t SwitchStateOf(std::int64_t state) {
  if (state >= 0x100) return logformat::kSwitchPreempted;
  if (state <= 0) return logformat::kSwitchRunnable;
  if ((state & 0x30) != 0) return logformat::kSwitchDead;
  if ((state & 0xc0) != 0) return logformat::kSwitchOther;
  return static_cast<std::uint16_t>(state & 0x0f);
}

}  // namespace

void KernelEvents::SetClasses(const KernelClasses& classes) {
  has_waking_ = classes.waking;
  if (classes.sched_switch) {
    records_.HaveSwitches(classes.counters, classes.faults);
  } else if (classes.any) {
    output_.description().info.not_known.push_back(
        "who ran when (no sched_switch in the trace): on-CPU times, "
        "dispatches and waiting are absent, not 0");
  }
}

bool KernelEvents::TakeCounters(CpuBooks& cpu, const SourceEvent& source,
                                const EventPlan& plan) {
  const std::size_t count = records_.set_counters();
  if (count == 0 || plan.counters.size() != count) return false;
  counts_.assign(count, 0);
  for (const CounterPlace& counter : plan.counters) {
    const auto value = source.event.Integer(counter.field);
    if (!value) return false;
    counts_[counter.slot - records_.first_counter()] =
        static_cast<std::uint64_t>(*value);
  }
  records_.SetCounts(cpu, source.time_ns, counts_);
  return true;
}

void KernelEvents::OnSwitch(CpuBooks& cpu, const SourceEvent& source,
                            const EventPlan& plan) {
  const auto prev = plan.Field(source.event, 0);
  const auto next = plan.Field(source.event, 1);
  if (!prev || !next) return;
  const auto prev_tid = static_cast<std::int32_t>(*prev);
  const auto next_tid = static_cast<std::int32_t>(*next);
  if (!cpu.flushed) records_.SetRunning(cpu, prev_tid);
  if (const auto comm = plan.Text(source.event, 3)) {
    records_.Name(cpu, source.time_ns, prev_tid, *comm);
  }
  if (const auto comm = plan.Text(source.event, 4)) {
    records_.Name(cpu, source.time_ns, next_tid, *comm);
  }
  records_.Switch(cpu, source.time_ns, prev_tid, next_tid,
                  SwitchStateOf(plan.Field(source.event, 2).value_or(0)));
  interrupts_[cpu.number].clear();
}

void KernelEvents::OnTask(CpuBooks& cpu, const SourceEvent& source,
                          const EventPlan& plan) {
  const auto number = [&](std::size_t role) {
    return static_cast<std::int32_t>(
        plan.Field(source.event, role).value_or(-1));
  };
  const auto text = [&](std::size_t role) {
    return std::string(plan.Text(source.event, role).value_or(""));
  };
  switch (plan.kind) {
    case EventKind::kFork: {
      logformat::TaskRecord fork{};
      fork.tid = number(1);
      fork.pid = plan.fields[0] ? number(0) : fork.tid;
      fork.parent_tid = number(3);
      fork.parent_pid =
          plan.fields[2] ? number(2) : records_.PidOf(fork.parent_tid);
      records_.Fork(cpu, source.time_ns, fork, text(4));
      return;
    }
    case EventKind::kExec: {
      const std::string path = text(2);
      // The kernel's comm for this file name.
      const std::string comm = path.substr(path.rfind('/') + 1).substr(0, 15);
      records_.Exec(cpu, source.time_ns, number(0),
                    plan.fields[1] ? number(1) : -1, comm);
      return;
    }
    case EventKind::kProcessExit:
      records_.Exit(cpu, source.time_ns, number(0));
      return;
    case EventKind::kProcessState: {
      logformat::StateRecord state{};
      state.tid = number(0);
      state.pid = plan.fields[1] ? number(1) : state.tid;
      state.parent_pid = std::max(number(2), 0);
      if (plan.Field(source.event, 3) == kLttngKernelThread) {
        state.flags = logformat::kStateKernelThread;
      }
      records_.State(cpu, source.time_ns, state, text(4));
      return;
    }
    default:
      return;
  }
}

void KernelEvents::OnHook(CpuBooks& cpu, const SourceEvent& source,
                          const EventPlan& plan, std::uint32_t hook, bool exit,
                          std::uint64_t number) {
  HookCall call{.hook = hook, .exit = exit, .number = number};
  call.dump = plan.counters.size() == records_.set_counters() &&
              records_.set_counters() != 0;
  if (plan.kind == EventKind::kSyscallExit) {
    call.returned = plan.Field(source.event, 0).value_or(0);
  }
  values_.clear();
  if (plan.kind == EventKind::kSyscallEnter) {
    const auto& types =
        records_.DeclareValues(hook, plan.payload_types, plan.payload_names);
    if (types == plan.payload_types) {
      source.event.AppendPayload(values_);
    } else {  // another source's event of this name has others
      for (const logformat::PayloadType type : types) {
        const bool text = type == logformat::PayloadType::kString;
        values_.append(text ? 1 : sizeof(std::uint64_t), '\0');
      }
    }
    call.values = values_;
  }
  records_.Call(cpu, source.time_ns, call);
}

void KernelEvents::OnInterrupt(CpuBooks& cpu, const SourceEvent& source,
                               const EventPlan& plan) {
  const auto number =
      static_cast<std::uint64_t>(plan.Field(source.event, 0).value_or(0));
  const bool exit = plan.kind == EventKind::kInterruptExit;
  const bool handler =
      plan.hook_name.empty() && plan.provider == std::string_view("irq");
  std::string name = plan.hook_name;
  if (handler) {
    // The exit does not name the handler: it is the open one of its line.
    name = absl::StrFormat("%d", number);
    if (!exit && plan.fields.size() > 1) {
      if (const auto text = plan.Text(source.event, 1)) {
        name += ':';
        name += *text;
      }
    }
  } else if (name.empty()) {
    name = number < std::size(kSoftirqs) ? std::string(kSoftirqs[number])
                                         : absl::StrFormat("%d", number);
  }
  std::vector<std::uint32_t>& open = interrupts_[cpu.number];
  const std::uint32_t hook =
      exit && handler && !open.empty()
          ? open.back()
          : records_.HookOf(HookOrigin::kInterrupt, HookKind::kSegment,
                            plan.provider, name);
  if (!exit) {
    open.push_back(hook);
  } else if (!open.empty()) {
    open.pop_back();
  }
  OnHook(cpu, source, plan, hook, exit, number);
}

void KernelEvents::OnEvent(const SourceEvent& source, const EventPlan& plan) {
  if (plan.kind == EventKind::kIgnored) return;
  CpuBooks& cpu =
      records_.CpuOf(std::max(source.stream.cpu, 0), source.time_ns);
  // Contexts name the running thread and its process.
  const auto tid = IntegerAt(source.event, plan.tid);
  if (tid && *tid >= 0) {
    if (const auto pid = IntegerAt(source.event, plan.pid); pid && *pid > 0) {
      records_.SetProcess(static_cast<std::int32_t>(*tid),
                          static_cast<std::int32_t>(*pid));
    }
    records_.SetRunning(cpu, static_cast<std::int32_t>(*tid));
  }
  TakeCounters(cpu, source, plan);
  switch (plan.kind) {
    case EventKind::kSwitch:
      OnSwitch(cpu, source, plan);
      return;
    case EventKind::kWaking: {
      const auto wakee = plan.Field(source.event, 0);
      if (!wakee || (has_waking_ && plan.repeats_waking)) return;
      records_.Wake(cpu, source.time_ns, static_cast<std::int32_t>(*wakee),
                    plan.Field(source.event, 1).value_or(cpu.number));
      return;
    }
    case EventKind::kFork:
    case EventKind::kExec:
    case EventKind::kProcessExit:
    case EventKind::kProcessState:
      OnTask(cpu, source, plan);
      return;
    case EventKind::kComm:
      if (const auto comm = plan.Text(source.event, 1)) {
        records_.Name(
            cpu, source.time_ns,
            static_cast<std::int32_t>(plan.Field(source.event, 0).value_or(0)),
            *comm);
      }
      return;
    case EventKind::kSyscallEnter:
    case EventKind::kSyscallExit:
      OnHook(cpu, source, plan,
             records_.HookOf(HookOrigin::kKernel, HookKind::kSegment,
                             plan.provider, plan.hook_name),
             plan.kind == EventKind::kSyscallExit, 0);
      return;
    case EventKind::kInterruptEnter:
    case EventKind::kInterruptExit:
      OnInterrupt(cpu, source, plan);
      return;
    case EventKind::kPageFault:
      records_.Fault(
          cpu, source.time_ns,
          static_cast<std::uint64_t>(plan.Field(source.event, 0).value_or(0)));
      return;
    case EventKind::kKernelPoint:
      OnHook(cpu, source, plan,
             records_.HookOf(HookOrigin::kKernel, HookKind::kPoint, "kernel",
                             plan.name),
             false, 0);
      return;
    default:
      return;
  }
}

}  // namespace countrace::importer
