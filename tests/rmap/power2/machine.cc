#include "tests/rmap/power2/machine.h"

#include <optional>
#include <random>
#include <stdexcept>
#include <utility>

#include "tests/rmap/power2/counter_log.h"

namespace countrace::test_support::power2 {
namespace {

using logformat::CountersReason;
using Hooked = CounterLog::KernelHook;

// Time advances in steps of 33 cycles.
constexpr std::uint64_t kStepNs = 500, kStepCycles = 33;
static_assert(kStepCycles * 1'000'000'000 == kStepNs * kHertz);
using Counters32 = std::array<std::uint32_t, kCounters>;

struct Process {
  std::int32_t pid = 0;
  std::uint32_t msr = kMsrPr;  // while it does not run
  bool live = true, runnable = true, in_svc = false;
  std::uint32_t mode = 0;
  Counters32 saved{};           // the monitor's counters while it does not run
  Sums view{};                  // the same, in 64 bits
  std::optional<Sums> segment;  // its view at the enter of its segment
};

struct Cpu {
  Monitor monitor;
  int running = -1;       // index into processes_; -1: the wait process
  std::uint32_t msr = 0;  // of the running process
  std::uint32_t interrupted_msr = 0;
  bool in_clock = false, in_dispatcher = false;
  // State of the simulation, independent of the monitor.
  bool spe = false;
  std::uint32_t imr = 0;
};

class Machine {
 public:
  Machine(const MachineOptions& options, const std::string& directory)
      : options_(options),
        random_(options.seed),
        directory_(directory),
        cpus_(options.cpus) {
    for (std::uint32_t& group : groups_) group = Pick(kGroups);
    for (std::uint32_t& group : mode_groups_) group = Pick(kGroups);
    // Includes the two software events in half of the runs.
    if (Pick(2) == 0) groups_[1] = 14 + Pick(2);
    mode_groups_ = {mode_groups_[0], 14, 15, (mode_groups_[0] + 1) % 14};
  }

  Truth Run();

 private:
  std::uint32_t Random() { return static_cast<std::uint32_t>(random_()); }
  std::uint32_t Pick(std::uint32_t n) { return Random() % n; }
  std::uint32_t Word(std::uint32_t mode) const;
  // The signal of counter `i` in mode `mode`, by our own reading of the paper.
  Signal Counted(std::size_t i, std::uint32_t mode) const;
  LogOptions LogOf() const;
  void Advance(std::uint64_t steps);
  void Account(Cpu& cpu, const Work& work, std::uint64_t ns);
  std::uint32_t NumberOf(const Cpu& cpu) const {
    return static_cast<std::uint32_t>(&cpu - cpus_.data());
  }
  CpuStreamBuilder& Stream(const Cpu& cpu) {
    return log_->Stream(NumberOf(cpu));
  }
  std::vector<std::uint64_t> Read(const Cpu& cpu) {
    return log_->Read(NumberOf(cpu), cpu.monitor);
  }
  void Dump(const Cpu& cpu, CountersReason reason) {
    Stream(cpu).Counters(now_ns_, reason, TidOf(cpu.running), Read(cpu));
  }
  std::uint32_t TidOf(int process) const {
    return process < 0 ? 0
                       : static_cast<std::uint32_t>(
                             processes_[static_cast<std::size_t>(process)].pid);
  }
  void KernelHook(Cpu& cpu, Hooked hook, bool exit);
  void SetMode(Cpu& cpu, std::uint32_t mode);
  void NewProcess(const Process* parent);
  void Dispatch(Cpu& cpu, int next, std::uint16_t state);
  std::optional<int> PickRunnable();
  void EnterClock(Cpu& cpu);
  void LeaveClock(Cpu& cpu);
  void ActInSvc(Cpu& cpu);
  void ActInUser(Cpu& cpu);
  void Act(Cpu& cpu);
  void LongStep();
  void Hook(Cpu& cpu, bool exit);
  TrueProcess& TruthOf(int process) {
    return truth_.processes[static_cast<std::size_t>(process)];
  }

  MachineOptions options_;
  std::mt19937 random_;
  std::string directory_;
  std::array<std::uint32_t, kUnits> groups_{};
  std::array<std::uint32_t, kModes> mode_groups_{};
  std::vector<Cpu> cpus_;
  std::vector<Process> processes_;
  Truth truth_;
  std::uint64_t now_ns_ = 1'000'000;
  std::optional<CounterLog> log_;  // made by Run()
};

std::uint32_t Machine::Word(std::uint32_t mode) const {
  Mmcr mmcr;
  mmcr.dis = (options_.monitor_bits & 16) != 0;
  mmcr.dp = (options_.monitor_bits & 8) != 0;
  mmcr.du = (options_.monitor_bits & 4) != 0;
  mmcr.dms = (options_.monitor_bits & 2) != 0;
  mmcr.dmr = (options_.monitor_bits & 1) != 0;
  mmcr.sga = options_.sga;
  mmcr.group = groups_;
  if (options_.private_modes) mmcr.group[1] = mode_groups_[mode];
  return mmcr.Encode();
}

Signal Machine::Counted(std::size_t i, std::uint32_t mode) const {
  const auto element = static_cast<std::uint32_t>(i);
  if (options_.sga) return {Unit::kScu, kSgaGroup, element};
  if (i < 5) return {Unit::kFpu, groups_[0], element};
  if (i < 10) {
    const std::uint32_t group =
        options_.private_modes ? mode_groups_[mode] : groups_[1];
    return {Unit::kFxu, group, element - 5};
  }
  if (i < 15) return {Unit::kIcu, groups_[2], element - 10};
  return {Unit::kScu, groups_[3], element - 15};
}

LogOptions Machine::LogOf() const {
  LogOptions log;
  log.cpus = options_.cpus;
  log.private_modes = options_.private_modes;
  log.thread_dumps = options_.private_counters;
  if (!options_.private_modes) {
    for (std::size_t i = 0; i < kSelectable; ++i) {
      log.signals.push_back(Counted(i, 0));
    }
    return log;
  }
  for (std::uint32_t mode = 0; mode < kModes; ++mode) {
    for (std::size_t i = 0; i < kElements; ++i) {
      log.signals.push_back(Counted(kElements + i, mode));
    }
  }
  return log;
}

void Machine::Account(Cpu& cpu, const Work& work, std::uint64_t ns) {
  Process* const process =
      cpu.running < 0 ? nullptr
                      : &processes_[static_cast<std::size_t>(cpu.running)];
  TrueProcess* const owner =
      process == nullptr ? nullptr : &TruthOf(cpu.running);
  Sums* sums = &truth_.idle;
  if (cpu.in_dispatcher) {
    sums = &truth_.dispatcher;
    truth_.dispatcher_ns += ns;
  } else if (cpu.in_clock) {
    sums = &truth_.clock;
    truth_.clock_ns += ns;
  } else if (owner != nullptr) {
    sums = &owner->counts;
    owner->on_cpu_ns += ns;
  } else {
    truth_.idle_ns += ns;
  }
  // The state of the processor, as the running code requires.
  const bool handler = cpu.in_dispatcher || cpu.in_clock;
  const bool pr = !handler && process != nullptr && !process->in_svc;
  const bool pm = !handler && owner != nullptr && owner->marked;
  if (!CountedByTable1(options_.monitor_bits, pr, pm)) return;
  const std::uint32_t mode = log_->mode(NumberOf(cpu));
  for (std::size_t i = 0; i < kCounters; ++i) {
    std::uint64_t count = 0;
    if (i == kCycles) {
      count = work.cycles;
    } else if (i == kMemoryErrors) {
      count = work.memory_errors;
    } else {
      const Signal signal = Counted(i, mode);
      count = signal == kSpeCycles    ? (cpu.spe ? work.cycles : 0)
              : signal == kImrMatches ? work.instructions[cpu.imr]
                                      : work.Occurrences(signal);
    }
    // The process's own reading also counts during the clock's interrupt.
    if (process != nullptr && !cpu.in_dispatcher) process->view[i] += count;
    const auto event = log_->EventOf(i, mode);
    if (!event) continue;
    (*sums)[*event] += count;
    truth_.total[*event] += count;
    if (sums == &truth_.idle || owner == nullptr || sums != &owner->counts) {
      continue;
    }
    if (process->in_svc) owner->in_svc[*event] += count;
  }
}

void Machine::Advance(std::uint64_t steps) {
  const std::uint64_t ns = steps * kStepNs;
  now_ns_ += ns;
  truth_.duration_ns += ns;
  for (Cpu& cpu : cpus_) {
    Work work;
    work.cycles = steps * kStepCycles;
    work.seed = Random();
    work.memory_errors = Pick(3);
    for (std::uint32_t& count : work.instructions) count = Pick(33);
    cpu.monitor.Run(work, cpu.msr);
    log_->Elapsed(NumberOf(cpu), ns);
    Account(cpu, work, ns);
  }
}

void Machine::KernelHook(Cpu& cpu, Hooked hook, bool exit) {
  log_->Hook(now_ns_, NumberOf(cpu), cpu.monitor, hook, exit,
             TidOf(cpu.running));
}

void Machine::SetMode(Cpu& cpu, std::uint32_t mode) {
  const std::uint32_t number = NumberOf(cpu);
  if (!options_.private_modes || mode == log_->mode(number)) return;
  Dump(cpu, CountersReason::kSetEnd);
  cpu.monitor.WriteMmcr(Word(mode), cpu.msr);
  log_->SetMode(number, mode);
  Dump(cpu, CountersReason::kSetBegin);
}

void Machine::NewProcess(const Process* parent) {
  Process process;
  process.pid = 100 + static_cast<std::int32_t>(processes_.size());
  process.mode = Pick(kModes);
  // A child has its parent's mark; the first processes get theirs at random.
  const bool marked =
      parent != nullptr ? (parent->msr & kMsrPm) != 0 : Pick(2) == 0;
  process.msr = kMsrPr | (marked ? kMsrPm : 0);
  truth_.processes.push_back({});
  truth_.processes.back().pid = process.pid;
  truth_.processes.back().marked = marked;
  truth_.processes.back().mode = process.mode;
  processes_.push_back(process);
}

void Machine::Dispatch(Cpu& cpu, int next, std::uint16_t state) {
  const int prev = cpu.running;
  // 1. The process stops: mode, counts and process id go to the log.
  Stream(cpu).Dispatch(now_ns_, TidOf(prev), TidOf(next), state, Read(cpu));
  if (prev >= 0) {
    Process& process = processes_[static_cast<std::size_t>(prev)];
    process.msr = cpu.msr;
    process.runnable = state == logformat::kSwitchPreempted;
    for (std::size_t i = 0; i < kCounters; ++i) {
      process.saved[i] = cpu.monitor.counter(i);
    }
  }
  cpu.running = next;
  cpu.msr = MsrAtInterrupt(cpu.msr);
  cpu.in_dispatcher = true;
  KernelHook(cpu, Hooked::kDispatcher, /*exit=*/false);
  if (next >= 0) {
    processes_[static_cast<std::size_t>(next)].runnable = false;
    ++TruthOf(next).dispatches;
  }
  Advance(1 + Pick(6));
  // 2. The operating system's own counts; then the next process's mode, and its
  // saved counters, or 0.
  if (next >= 0) SetMode(cpu, processes_[static_cast<std::size_t>(next)].mode);
  KernelHook(cpu, Hooked::kDispatcher, /*exit=*/true);
  for (std::size_t i = 0; i < kCounters; ++i) {
    std::uint32_t value = 0;
    if (options_.private_counters && next >= 0) {
      value = processes_[static_cast<std::size_t>(next)].saved[i];
    }
    cpu.monitor.WriteCounter(i, value, cpu.msr);
    log_->Written(NumberOf(cpu), i, value);
  }
  // 3. The next process starts or continues.
  cpu.in_dispatcher = false;
  cpu.msr = next < 0 ? 0 : processes_[static_cast<std::size_t>(next)].msr;
}

std::optional<int> Machine::PickRunnable() {
  std::vector<int> candidates;
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    if (processes_[i].live && processes_[i].runnable) {
      candidates.push_back(static_cast<int>(i));
    }
  }
  if (candidates.empty()) return std::nullopt;
  return candidates[Pick(static_cast<std::uint32_t>(candidates.size()))];
}

void Machine::EnterClock(Cpu& cpu) {
  KernelHook(cpu, Hooked::kClock, /*exit=*/false);
  cpu.interrupted_msr = cpu.msr;
  cpu.msr = MsrAtInterrupt(cpu.msr);
  cpu.in_clock = true;
}

void Machine::LeaveClock(Cpu& cpu) {
  KernelHook(cpu, Hooked::kClock, /*exit=*/true);
  cpu.msr = cpu.interrupted_msr;
  cpu.in_clock = false;
  const auto next = PickRunnable();
  if (Pick(2) == 0 && next) {
    Dispatch(cpu, *next, logformat::kSwitchPreempted);
  }
}

void Machine::Hook(Cpu& cpu, bool exit) {
  const auto index = static_cast<std::size_t>(cpu.running);
  Process& process = processes_[index];
  log_->Segment(now_ns_, process.pid, cpu.monitor, exit);
  if (!exit) {
    process.segment = process.view;
    return;
  }
  TrueProcess& truth = truth_.processes[index];
  ++truth.segment_calls;
  for (std::size_t i = 0; i < kThreadEvents; ++i) {
    truth.in_segment[i] += process.view[i] - (*process.segment)[i];
  }
  process.segment.reset();
}

void Machine::ActInSvc(Cpu& cpu) {
  const auto index = static_cast<std::size_t>(cpu.running);
  const std::uint32_t action = Pick(100);
  if (action < 45) {
    KernelHook(cpu, Hooked::kSvc, /*exit=*/true);
    processes_[index].in_svc = false;
    cpu.msr |= kMsrPr;
  } else if (action < 55 && processes_.size() < 25) {
    processes_[index].msr = cpu.msr;
    const Process parent = processes_[index];
    NewProcess(&parent);
    const std::int32_t child = processes_.back().pid;
    Stream(cpu).Fork(now_ns_, child, child, parent.pid, parent.pid);
  } else if (action < 65) {
    cpu.imr = Pick(4);
    if (cpu.monitor.WriteImr(cpu.imr, cpu.msr) != Access::kDone) {
      throw std::logic_error("IMR not written in privileged state");
    }
  } else if (action < 68 && !processes_[index].segment) {
    const std::int32_t pid = processes_[index].pid;
    Stream(cpu).Exit(now_ns_, pid, pid);
    processes_[index].live = false;
    TruthOf(cpu.running).exited = true;
    Dispatch(cpu, PickRunnable().value_or(-1), logformat::kSwitchDead);
    processes_[index].runnable = false;
  } else if (action < 80) {
    Dispatch(cpu, PickRunnable().value_or(-1), logformat::kSwitchInterruptible);
  }
}

void Machine::ActInUser(Cpu& cpu) {
  Process& process = processes_[static_cast<std::size_t>(cpu.running)];
  const std::uint32_t action = Pick(100);
  if (action < 35) {
    process.in_svc = true;
    ++TruthOf(cpu.running).svc_calls;
    KernelHook(cpu, Hooked::kSvc, /*exit=*/false);
    cpu.msr = MsrAtSvc(cpu.msr);
  } else if (action < 50) {
    cpu.spe = !cpu.spe;
    cpu.monitor.SetSpe(cpu.spe);
  } else if (action < 80 && options_.private_counters) {
    Hook(cpu, process.segment.has_value());
  }
}

void Machine::Act(Cpu& cpu) {
  if (cpu.in_clock) {
    if (Pick(2) == 0) LeaveClock(cpu);
    return;
  }
  if (Pick(8) == 0) {
    EnterClock(cpu);
  } else if (cpu.running < 0) {
    if (const auto next = PickRunnable()) {
      Dispatch(cpu, *next, logformat::kSwitchRunnable);
    }
  } else if (processes_[static_cast<std::size_t>(cpu.running)].in_svc) {
    ActInSvc(cpu);
  } else {
    ActInUser(cpu);
  }
}

void Machine::LongStep() {
  // The operating system must look at the counters at least every 65.1 s.
  Advance(2'000'000ull * (1 + Pick(30)));
  for (Cpu& cpu : cpus_) {
    Dump(cpu, CountersReason::kTick);
  }
}

Truth Machine::Run() {
  log_.emplace(directory_, LogOf(), now_ns_);
  for (Cpu& cpu : cpus_) {
    if (cpu.monitor.WriteMmcr(Word(0), cpu.msr) != Access::kDone) {
      throw std::logic_error("MMCR not written");
    }
    for (std::size_t i = 0; i < kCounters; ++i) {
      log_->Preset(NumberOf(cpu), i, Random());
    }
    Dump(cpu, CountersReason::kBegin);
  }
  for (std::uint32_t i = 0; i < 2 + options_.cpus; ++i) {
    NewProcess(nullptr);
    Stream(cpus_[0]).ProcessState(now_ns_, processes_[i].pid, processes_[i].pid,
                                  1, 0, "power2");
  }
  for (std::uint32_t step = 0; step < options_.steps; ++step) {
    Advance(1 + Pick(Pick(10) == 0 ? 5000 : 20));
    if (options_.long_steps && Pick(40) == 0) LongStep();
    // A process that does not run becomes runnable again sooner or later.
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      bool runs = false;
      for (const Cpu& cpu : cpus_) runs |= cpu.running == static_cast<int>(i);
      if (processes_[i].live && !runs && Pick(4) == 0) {
        processes_[i].runnable = true;
      }
    }
    Act(cpus_[Pick(options_.cpus)]);
  }
  Advance(10);
  for (Cpu& cpu : cpus_) {
    if (cpu.in_clock) KernelHook(cpu, Hooked::kClock, /*exit=*/true);
    Dump(cpu, CountersReason::kEnd);
  }
  log_->Finish();
  truth_.wraps = log_->wraps();
  return std::move(truth_);
}

}  // namespace

bool CountedByTable1(std::uint32_t monitor_bits, bool pr, bool pm) {
  // DIS DP DU DMS DMR, then what is counted: P(roblem state), M(arked), small
  // letters for the opposite; * everything, - nothing. X is any.
  static constexpr struct {
    const char* bits;
    const char* counted;
  } kRows[] = {{"00000", "*"},  {"00001", "M"},  {"00010", "m"},
               {"00100", "p"},  {"01000", "P"},  {"00101", "pM"},
               {"00110", "pm"}, {"01001", "PM"}, {"01010", "Pm"},
               {"XXX11", "-"},  {"X11XX", "-"},  {"1XXXX", "-"}};
  for (const auto& row : kRows) {
    bool fits = true;
    for (unsigned i = 0; i < 5; ++i) {
      const char bit = (monitor_bits >> (4 - i) & 1u) != 0 ? '1' : '0';
      fits &= row.bits[i] == 'X' || row.bits[i] == bit;
    }
    if (!fits) continue;
    for (const char* state = row.counted; *state != '\0'; ++state) {
      if (*state == '-') return false;
      if ((*state == 'P' && !pr) || (*state == 'p' && pr) ||
          (*state == 'M' && !pm) || (*state == 'm' && pm)) {
        return false;
      }
    }
    return true;
  }
  throw std::logic_error("no row of table 1");
}

MachineOptions RandomOptions(std::uint32_t seed) {
  MachineOptions options;
  options.seed = seed;
  options.monitor_bits = seed % 32;
  options.cpus = 1 + seed / 32 % 3;
  options.steps = 150 + seed % 350;
  options.sga = seed / 96 % 4 == 1;
  options.private_modes = seed / 96 % 4 == 2;
  options.private_counters = !options.private_modes && seed / 7 % 2 == 0;
  options.long_steps = seed / 5 % 3 == 0;
  return options;
}

Truth Simulate(const MachineOptions& options, const std::string& directory) {
  return Machine(options, directory).Run();
}

}  // namespace countrace::test_support::power2
