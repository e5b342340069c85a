#include "counter_log.h"

#include <utility>

namespace power2 {

using logformat::CpuEvent;
using logformat::HookInfo;
using logformat::HookKind;
using logformat::HookOrigin;
using logformat::PayloadType;

CounterLog::CounterLog(const std::string& directory, const LogOptions& options,
                       std::uint64_t begin_ns)
    : options_(options), trace_(directory), cpus_(options.cpus) {
  Describe(begin_ns);
  for (Cpu& cpu : cpus_) {
    cpu.logged.resize(trace_.info().cpu_events.size());
    cpu.mode_ns.resize(options_.modes.size());
  }
  const auto add = [this](HookKind kind, HookOrigin origin,
                          const char* provider, const char* name) {
    HookInfo hook;
    hook.kind = kind;
    hook.origin = origin;
    hook.provider = provider;
    hook.name = name;
    hook.location = "machine.cc";
    if (kind == HookKind::kPoint) {
      hook.payload = {PayloadType::kUnsigned};
      hook.payload_names = {"value"};
    }
    return trace_.AddHook(std::move(hook));
  };
  if (options_.thread_dumps) {
    segment_ = add(HookKind::kSegment, HookOrigin::kProgram, "app", "phase");
  }
  spe_ = add(HookKind::kPoint, HookOrigin::kProgram, "power2", "spe");
  hooks_ = {
      add(HookKind::kSegment, HookOrigin::kKernel, "syscall", "svc"),
      add(HookKind::kSegment, HookOrigin::kInterrupt, "irq", "clock"),
      add(HookKind::kSegment, HookOrigin::kInterrupt, "power2", "dispatcher")};
  imr_ = add(HookKind::kPoint, HookOrigin::kKernel, "power2", "imr");
}

void CounterLog::Describe(std::uint64_t begin_ns) {
  logformat::TraceInfo& info = trace_.info();
  for (std::size_t i = 0; i < info.uuid.size(); ++i) {
    info.uuid[i] = static_cast<std::uint8_t>(i * 17);
  }
  info.scope = logformat::SessionScope::kSystem;
  info.cpus = options_.cpus;
  info.begin_ns = begin_ns;
  info.hostname = "power2";
  info.kernel_release = "simulated";
  info.command = options_.command;
  for (std::size_t i = 0; i < kCounters; ++i) {
    if (!options_.swept[i]) info.cpu_events.push_back(options_.modes[0][i]);
  }
  if (options_.thread_dumps) {
    info.thread_events = info.cpu_events;
    if (info.thread_events.size() > logformat::kMaxCounters) {
      info.thread_events.resize(logformat::kMaxCounters);
    }
  }
  for (const CounterNames& names : options_.modes) {
    if (options_.swept.none()) break;
    info.cpu_set_sizes.push_back(options_.swept.count());
    for (std::size_t i = 0; i < kCounters; ++i) {
      if (options_.swept[i]) info.cpu_events.push_back(names[i]);
    }
  }
  // A reader cannot tell by the values how often a counter of 32 bits wrapped.
  const logformat::CounterLimit limit = {32, kHertz};
  info.cpu_counter_limits.assign(info.cpu_events.size(), limit);
  info.thread_counter_limits.assign(info.thread_events.size(), limit);
}

std::size_t CounterLog::EventOf(std::size_t i, std::uint32_t mode) const {
  std::size_t before = 0;  // counters of the same kind
  for (std::size_t j = 0; j < i; ++j) {
    before += options_.swept[j] == options_.swept[i] ? 1 : 0;
  }
  if (!options_.swept[i]) return before;
  const std::size_t in_a_set = options_.swept.count();
  return kCounters - in_a_set + mode * in_a_set + before;
}

void CounterLog::Read(std::uint32_t number, const Monitor& monitor,
                      Body& body) {
  Cpu& cpu = cpus_[number];
  for (std::size_t i = 0; i < kCounters; ++i) {
    const std::uint32_t value = monitor.counter(i);
    const std::uint32_t delta = value - std::exchange(cpu.base[i], value);
    std::uint32_t& logged = cpu.logged[EventOf(i, cpu.mode)];
    logged += delta;
    if (logged < delta) ++wraps_;
  }
  const std::size_t in_a_set = options_.swept.count();
  const std::size_t always = kCounters - in_a_set;
  if (in_a_set != 0) {
    body.Add(logformat::ThreadDump{cpu.mode, (1u << (kCounters + 1)) - 1});
  }
  for (std::size_t i = 0; i < always; ++i) {
    body.Add(std::uint64_t{cpu.logged[i]});
  }
  for (std::size_t i = 0; i < in_a_set; ++i) {
    body.Add(std::uint64_t{cpu.logged[always + cpu.mode * in_a_set + i]});
  }
  if (in_a_set != 0) body.Add(cpu.mode_ns[cpu.mode]);
}

void CounterLog::Dump(std::uint64_t time_ns, std::uint32_t cpu,
                      const Monitor& monitor, logformat::CountersReason reason,
                      std::uint32_t running_pid) {
  Body body;
  body.Add(static_cast<std::uint32_t>(reason)).Add(running_pid);
  Read(cpu, monitor, body);
  AppendToCpu(cpu, CpuEvent::kCounters, time_ns, body);
}

void CounterLog::Dispatch(std::uint64_t time_ns, std::uint32_t cpu,
                          const Monitor& monitor, std::uint32_t prev,
                          std::uint32_t next, std::uint16_t state) {
  Body body;
  body.Add(logformat::PackDispatch(prev, next, state));
  Read(cpu, monitor, body);
  AppendToCpu(cpu, CpuEvent::kDispatch, time_ns, body);
}

void CounterLog::Hook(std::uint64_t time_ns, std::uint32_t cpu,
                      const Monitor& monitor, KernelHook hook, bool exit,
                      std::uint32_t running_pid) {
  const auto event = static_cast<std::uint16_t>(
      hooks_[static_cast<std::size_t>(hook)] * 2 +
      (exit ? logformat::kEventExitBit : 0) + logformat::kEventDumpBit);
  const std::uint64_t pid = running_pid;
  Body body;
  body.Add(pid | pid << 24);
  Read(cpu, monitor, body);
  if (exit) body.Add(std::int64_t{0});  // what the code returned
  trace_.AppendToCpu(cpu, event, time_ns, body);
}

void CounterLog::Segment(std::uint64_t time_ns, std::int32_t pid,
                         const Monitor& monitor, bool exit) {
  const std::size_t values = trace_.info().thread_events.size();
  Body body;
  body.Add(logformat::ThreadDump{0, (1u << values) - 1});
  for (std::size_t i = 0; i < kCounters; ++i) {
    if (options_.swept[i] || EventOf(i, 0) >= values) continue;
    body.Add(std::uint64_t{monitor.counter(i)});
  }
  const auto event = static_cast<std::uint16_t>(
      segment_ * 2 + (exit ? logformat::kEventExitBit : 0) +
      logformat::kEventDumpBit);
  trace_.AppendToThread(pid, event, time_ns, body);
}

void CounterLog::Process(std::uint64_t time_ns, std::int32_t pid, bool marked,
                         std::string_view name) {
  Body body;
  body.Add(pid).Add(pid).Add(std::int32_t{1});
  body.Add(std::uint32_t{marked ? logformat::kStateMarked : 0u});
  body.AddText(name, sizeof(logformat::StateRecord::comm));
  AppendToCpu(0, CpuEvent::kProcessState, time_ns, body);
}

void CounterLog::Fork(std::uint64_t time_ns, std::uint32_t cpu,
                      std::int32_t child, std::int32_t parent) {
  Body body;
  body.Add(child).Add(child).Add(parent).Add(parent);
  AppendToCpu(cpu, CpuEvent::kFork, time_ns, body);
}

void CounterLog::Exit(std::uint64_t time_ns, std::uint32_t cpu,
                      std::int32_t pid) {
  Body body;
  body.Add(pid).Add(pid).Add(std::uint64_t{0});
  AppendToCpu(cpu, CpuEvent::kExit, time_ns, body);
}

void CounterLog::Spe(std::uint64_t time_ns, std::int32_t pid, bool up) {
  Body body;
  body.Add(std::uint64_t{up ? 1u : 0u});
  trace_.AppendToThread(pid, static_cast<std::uint16_t>(spe_ * 2), time_ns,
                        body);
}

void CounterLog::Imr(std::uint64_t time_ns, std::uint32_t cpu,
                     std::uint32_t code, std::uint32_t running_pid) {
  const std::uint64_t pid = running_pid;
  Body body;
  body.Add(pid | pid << 24).Add(std::uint64_t{code});
  trace_.AppendToCpu(cpu, static_cast<std::uint16_t>(imr_ * 2), time_ns, body);
}

}  // namespace power2
