#include "machine.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <stdexcept>
#include <utility>

#include "counter_log.h"

namespace power2 {
namespace {

using logformat::CountersReason;
using Hooked = CounterLog::KernelHook;

// Time advances in steps of 33 cycles.
constexpr std::uint64_t kStepNs = 500, kStepCycles = 33;
static_assert(kStepCycles * 1'000'000'000 == kStepNs * kHertz);
constexpr std::int32_t kFirstPid = 100;
// Modes change at the clock's interrupt, if this time has passed.
constexpr std::uint64_t kRotationNs = 2'000'000;
constexpr std::uint64_t kLateSteps = 300'000'000;  // 150 s

// What the selectors and the IMR choose: an event set of the trace.
struct Mode {
  std::array<std::uint32_t, kUnits> groups{};
  std::uint32_t code = 0;
};
using Counters32 = std::array<std::uint32_t, kCounters>;
using Counters64 = std::array<std::uint64_t, kCounters>;

struct Process {
  std::int32_t pid = 0;
  std::uint32_t msr = kMsrPr;  // while it does not run
  bool live = true, runnable = true, in_svc = false;
  std::uint32_t mode = 0;
  Counters32 saved{};  // the monitor's counters while it does not run
  Counters64 view{};   // the same, in 64 bits
  std::optional<Counters64> segment;  // its view at the enter of its segment
};

struct Cpu {
  Monitor monitor;
  int running = -1;       // index into processes_; -1: the wait process
  std::uint32_t msr = 0;  // of the running process
  std::uint32_t interrupted_msr = 0;
  bool in_clock = false, in_dispatcher = false;
  // As software sets them, independent of the monitor.
  bool spe = false;
  std::uint32_t imr = 0;
  std::uint64_t mode_begin_ns = 0;
};

class Machine {
 public:
  Machine(const MachineOptions& options, const std::string& directory)
      : options_(options),
        random_(options.seed),
        directory_(directory),
        cpus_(options.cpus) {
    MakeModes();
  }

  Truth Run();

 private:
  std::uint32_t Random() { return static_cast<std::uint32_t>(random_()); }
  std::uint32_t Pick(std::uint32_t n) { return Random() % n; }
  void MakeModes();
  std::uint32_t Word(std::uint32_t mode) const;
  // The signal of counter `i` in mode `mode`, by our own reading of the paper.
  Signal Counted(std::size_t i, std::uint32_t mode) const;
  std::string NameOf(std::size_t i, std::uint32_t mode) const;
  LogOptions LogOf() const;
  std::uint64_t CountOf(const Cpu& cpu, const Work& work, std::size_t i,
                        std::uint32_t mode) const;
  void Advance(std::uint64_t steps);
  void Account(Cpu& cpu, const Work& work, std::uint64_t ns);
  std::uint32_t NumberOf(const Cpu& cpu) const {
    return static_cast<std::uint32_t>(&cpu - cpus_.data());
  }
  void Dump(const Cpu& cpu, CountersReason reason) {
    log_->Dump(now_ns_, NumberOf(cpu), cpu.monitor, reason, TidOf(cpu.running));
  }
  std::uint32_t TidOf(int process) const {
    return process < 0 ? 0
                       : static_cast<std::uint32_t>(
                             processes_[static_cast<std::size_t>(process)].pid);
  }
  void KernelHook(Cpu& cpu, Hooked hook, bool exit);
  void SetMode(Cpu& cpu, std::uint32_t mode);
  void Rotate(Cpu& cpu);
  void WriteImr(Cpu& cpu, std::uint32_t code);
  void NewProcess(const Process* parent);
  void Dispatch(Cpu& cpu, int next, std::uint16_t state);
  std::uint32_t FirstProcesses() const { return 2 + options_.cpus; }
  bool MayExit() const;  // as many as at first live on
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
  std::vector<Mode> modes_;
  std::bitset<kCounters> swept_;  // counters that modes differ in
  std::vector<Cpu> cpus_;
  std::vector<Process> processes_;
  Truth truth_;
  std::uint64_t now_ns_ = 1'000'000;
  std::optional<CounterLog> log_;  // made by Run()
};

void Machine::MakeModes() {
  Mode mode;
  for (std::uint32_t& group : mode.groups) group = Pick(kGroups);
  // Includes the two software events in half of the runs.
  if (Pick(2) == 0) mode.groups[1] = 14 + Pick(2);
  if (options_.groups) mode.groups = *options_.groups;
  if (options_.sweep_codes) mode.groups[1] = kImrMatches.group;
  modes_ = {mode};
  if (options_.private_modes) {
    modes_.resize(4, mode);
    modes_[1].groups[1] = 14;
    modes_[2].groups[1] = 15;
    modes_[3].groups[1] = (mode.groups[1] + 1) % 14;
    options_.sweep_units.set(1);
  } else if (options_.sweep_codes) {
    modes_.resize(kCodes, mode);
    for (std::uint32_t i = 0; i < kCodes; ++i) modes_[i].code = i;
    swept_.set(kElements + kImrMatches.element);
  } else if (options_.sweep_units.any()) {
    modes_.resize(kGroups, mode);
    for (std::uint32_t i = 0; i < kGroups; ++i) {
      for (std::size_t unit = 0; unit < kUnits; ++unit) {
        if (options_.sweep_units[unit]) modes_[i].groups[unit] = i;
      }
    }
  }
  for (std::size_t i = 0; i < kSelectable; ++i) {
    if (options_.sweep_units[i / kElements]) swept_.set(i);
  }
}

std::uint32_t Machine::Word(std::uint32_t mode) const {
  Mmcr mmcr;
  mmcr.dis = (options_.monitor_bits & 16) != 0;
  mmcr.dp = (options_.monitor_bits & 8) != 0;
  mmcr.du = (options_.monitor_bits & 4) != 0;
  mmcr.dms = (options_.monitor_bits & 2) != 0;
  mmcr.dmr = (options_.monitor_bits & 1) != 0;
  mmcr.sga = options_.sga;
  mmcr.group = modes_[mode].groups;
  return mmcr.Encode();
}

Signal Machine::Counted(std::size_t i, std::uint32_t mode) const {
  const auto element = static_cast<std::uint32_t>(i);
  if (options_.sga) return {Unit::kScu, kSgaGroup, element};
  const std::array<std::uint32_t, kUnits>& groups = modes_[mode].groups;
  if (i < 5) return {Unit::kFpu, groups[0], element};
  if (i < 10) return {Unit::kFxu, groups[1], element - 5};
  if (i < 15) return {Unit::kIcu, groups[2], element - 10};
  return {Unit::kScu, groups[3], element - 15};
}

std::string Machine::NameOf(std::size_t i, std::uint32_t mode) const {
  if (i == kCycles) return "CPU_CYCLES";
  if (i == kMemoryErrors) return "MEMORY_ERRORS";
  static constexpr const char* kUnitNames[] = {"FPU", "FXU", "ICU", "SCU"};
  const Signal signal = Counted(i, mode);
  if (options_.sweep_codes && signal == kImrMatches) {
    return std::string("IMR_") + kCodeNames.at(modes_[mode].code);
  }
  return std::string(kUnitNames[static_cast<std::size_t>(signal.unit)]) + "_" +
         std::to_string(signal.group) + "_" + std::to_string(signal.element);
}

LogOptions Machine::LogOf() const {
  LogOptions log;
  log.cpus = options_.cpus;
  log.thread_dumps = options_.private_counters;
  log.command = options_.command;
  log.swept = swept_;
  log.modes.resize(modes_.size());
  for (std::uint32_t mode = 0; mode < modes_.size(); ++mode) {
    for (std::size_t i = 0; i < kCounters; ++i) {
      log.modes[mode].at(i) = NameOf(i, mode);
    }
  }
  return log;
}

std::uint64_t Machine::CountOf(const Cpu& cpu, const Work& work, std::size_t i,
                               std::uint32_t mode) const {
  if (i == kCycles) return work.cycles;
  if (i == kMemoryErrors) return work.memory_errors;
  const Signal signal = Counted(i, mode);
  if (signal == kSpeCycles) return cpu.spe ? work.cycles : 0;
  if (signal == kImrMatches) {
    return work.instructions.at(options_.sweep_codes ? modes_[mode].code
                                                     : cpu.imr);
  }
  return work.Occurrences(signal);
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
  const std::uint32_t on = log_->mode(NumberOf(cpu));
  for (std::size_t i = 0; i < kCounters; ++i) {
    const std::uint32_t modes =
        swept_[i] ? static_cast<std::uint32_t>(modes_.size()) : 1;
    for (std::uint32_t mode = 0; mode < modes; ++mode) {
      const std::uint64_t count = CountOf(cpu, work, i, mode);
      const std::size_t event = log_->EventOf(i, mode);
      truth_.happened[event] += count;
      if (owner != nullptr && sums == &owner->counts) {
        owner->happened[event] += count;
      }
      if (modes != 1 && mode != on) continue;
      // The process's own reading also counts during the clock's interrupt.
      if (process != nullptr && !cpu.in_dispatcher) process->view[i] += count;
      (*sums)[event] += count;
      truth_.total[event] += count;
      if (owner != nullptr && sums == &owner->counts && process->in_svc) {
        owner->in_svc[event] += count;
      }
    }
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
    for (std::size_t code = 0; code < kCodes; ++code) {
      work.instructions[code] = Random() % ((work.cycles >> code) + 1);
    }
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
  if (mode == log_->mode(number)) return;
  Dump(cpu, CountersReason::kSetEnd);
  if (cpu.monitor.WriteMmcr(Word(mode), cpu.msr) != Access::kDone) {
    throw std::logic_error("MMCR not written in privileged state");
  }
  if (options_.sweep_codes) WriteImr(cpu, modes_[mode].code);
  log_->SetMode(number, mode);
  Dump(cpu, CountersReason::kSetBegin);
}

void Machine::WriteImr(Cpu& cpu, std::uint32_t code) {
  cpu.imr = code;
  if (cpu.monitor.WriteImr(code, cpu.msr) != Access::kDone) {
    throw std::logic_error("IMR not written in privileged state");
  }
}

// "One could cycle the values through 0, 1, 2, ..., 15."
void Machine::Rotate(Cpu& cpu) {
  const bool sweeps = swept_.any() && !options_.private_modes;
  if (!sweeps || now_ns_ - cpu.mode_begin_ns < kRotationNs) return;
  cpu.mode_begin_ns = now_ns_;
  SetMode(cpu, (log_->mode(NumberOf(cpu)) + 1) %
                   static_cast<std::uint32_t>(modes_.size()));
}

void Machine::NewProcess(const Process* parent) {
  Process process;
  process.pid = kFirstPid + static_cast<std::int32_t>(processes_.size());
  process.mode = Pick(static_cast<std::uint32_t>(modes_.size()));
  // A child has its parent's mark; the first processes get theirs at random.
  const bool marked =
      parent != nullptr ? (parent->msr & kMsrPm) != 0 : Pick(2) == 0;
  process.msr = kMsrPr | (marked ? kMsrPm : 0);
  static constexpr const char* kNames[] = {"li", "make", "tpcd", "cron", "xlf"};
  TrueProcess truth;
  truth.pid = process.pid;
  truth.name = parent != nullptr
                   ? TruthOf(parent->pid - kFirstPid).name
                   : kNames[processes_.size() % std::size(kNames)];
  truth.marked = marked;
  truth.mode = process.mode;
  const std::size_t events = log_->events().size();
  for (Sums* sums :
       {&truth.counts, &truth.happened, &truth.in_svc, &truth.in_phase}) {
    sums->resize(events);
  }
  truth_.processes.push_back(std::move(truth));
  processes_.push_back(process);
}

void Machine::Dispatch(Cpu& cpu, int next, std::uint16_t state) {
  const int prev = cpu.running;
  // 1. The process stops: mode, counts and process id go to the log.
  log_->Dispatch(now_ns_, NumberOf(cpu), cpu.monitor, TidOf(prev), TidOf(next),
                 state);
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
  if (next >= 0 && options_.private_modes) {
    SetMode(cpu, processes_[static_cast<std::size_t>(next)].mode);
  }
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

bool Machine::MayExit() const {
  const auto live =
      std::count_if(processes_.begin(), processes_.end(),
                    [](const Process& process) { return process.live; });
  return live > static_cast<std::ptrdiff_t>(FirstProcesses());
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
  Rotate(cpu);
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
  for (std::size_t i = 0; i < kCounters; ++i) {
    if (swept_[i]) continue;
    truth.in_phase[log_->EventOf(i, 0)] +=
        process.view[i] - (*process.segment)[i];
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
  } else if (action < 55 && processes_.size() < options_.most_processes) {
    processes_[index].msr = cpu.msr;
    const Process parent = processes_[index];
    NewProcess(&parent);
    const std::int32_t child = processes_.back().pid;
    log_->Fork(now_ns_, NumberOf(cpu), child, parent.pid);
  } else if (action < 65 && !options_.sweep_codes) {
    WriteImr(cpu, Pick(kCodes));
    log_->Imr(now_ns_, NumberOf(cpu), cpu.imr, TidOf(cpu.running));
    ++truth_.imr_writes;
  } else if (action < 68 && !processes_[index].segment && MayExit()) {
    log_->Exit(now_ns_, NumberOf(cpu), processes_[index].pid);
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
    log_->Spe(now_ns_, process.pid, cpu.spe);
    ++truth_.spe_changes;
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
  truth_.events = log_->events();
  for (Sums* sums : {&truth_.total, &truth_.happened, &truth_.idle,
                     &truth_.clock, &truth_.dispatcher}) {
    sums->resize(truth_.events.size());
  }
  for (Cpu& cpu : cpus_) {
    if (cpu.monitor.WriteMmcr(Word(0), cpu.msr) != Access::kDone) {
      throw std::logic_error("MMCR not written");
    }
    if (options_.sweep_codes) WriteImr(cpu, 0);
    for (std::size_t i = 0; i < truth_.events.size(); ++i) {
      log_->Preset(NumberOf(cpu), i, Random());
    }
    Dump(cpu, CountersReason::kBegin);
  }
  for (std::uint32_t i = 0; i < FirstProcesses(); ++i) {
    NewProcess(nullptr);
    const TrueProcess& process = truth_.processes[i];
    log_->Process(now_ns_, process.pid, process.marked, process.name);
  }
  for (std::uint32_t step = 0; step < options_.steps; ++step) {
    Advance(1 + Pick(Pick(10) == 0 ? 5000 : 20));
    if (options_.long_steps && Pick(40) == 0) LongStep();
    if (options_.dump_late && step == options_.steps / 2) Advance(kLateSteps);
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

}  // namespace power2
