#include "tests/rmap/simulated_machine.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include "logformat/jump_hook.h"
#include "tests/rmap/simulated_queues.h"

namespace countrace::test_support {

namespace {

using logformat::CountersReason;

// Segments of programs, then system calls, then interrupts.
constexpr const char* kSegmentNames[] = {"sim:a",     "sim:b",     "sim:c",
                                         "sim:d",     "syscall:x", "syscall:y",
                                         "irq:timer", "irq:disk"};
constexpr std::uint32_t kFirstSystemCall = 4, kFirstInterrupt = 6;
constexpr std::uint32_t kFirstHook = 10, kJumpHook = 20;

bool IsSystemCall(std::uint32_t segment) {
  return segment >= kFirstSystemCall && segment < kFirstInterrupt;
}
std::uint32_t HookOf(std::uint32_t segment) {
  return segment < kFirstSystemCall
             ? kFirstHook + segment
             : logformat::kHookIdKernelMin + segment - kFirstSystemCall;
}

// An OpenCall points into the maps of a TrueProcess: when their vector grows,
// the maps must be moved, not copied.
static_assert(std::is_nothrow_move_constructible_v<TrueProcess>);

struct OpenCall {
  std::uint32_t segment;  // index in kSegmentNames
  std::uint64_t begin_ns, on_cpu_ns;
  bool outermost;        // no call of the same segment was open
  TrueSegment* by_path;  // the sums it adds to
  TrueSegment* by_segment;
};

struct SimThread {
  std::int32_t pid, tid;
  std::size_t process;  // index in Truth::processes
  bool in_scope;
  bool live = true;
  bool tid_used_before = false;
  int cpu = -1, last_cpu = -1;
  bool runnable = true;          // can be picked
  bool counts_wait = false;      // left while runnable, or was woken
  bool throttled = false;        // and has no CPU because of a quota
  bool any_cpu = true;           // it may use every one
  bool any_cpu_since = false;    // and so since it left its CPU
  bool any_cpu_changed = false;  // since it left its CPU
  bool blocked = false;
  bool ended_before = false;  // before the range
  std::uint64_t blocked_since_ns = 0;
  // It left in state 0x20: blocked for so long if it is woken, and up to the
  // end of the range.
  bool parked = false;
  std::uint64_t parked_ns = 0, parked_in_range_ns = 0;
  std::vector<OpenCall> stack;
  TrueThread truth;
};

class Machine {
 public:
  explicit Machine(const SimulationOptions& options)
      : options_(options),
        random_(options.seed),
        jump_random_(options.seed),
        affinity_random_(options.seed),
        trace_(std::make_unique<MemoryTrace>(options.threads_first)) {}

  Simulation Run();

 private:
  std::uint64_t Pick(std::uint64_t n) { return random_() % n; }
  std::string Name(std::uint32_t segment) const {
    return kSegmentNames[segment];
  }
  static std::string PathOf(const SimThread& thread, std::size_t frames) {
    std::string path;
    for (std::size_t i = 0; i < frames; ++i) {
      if (i != 0) path += " > ";
      path += kSegmentNames[thread.stack[i].segment];
    }
    return path;
  }

  // Adds `amount` to a sum of every open call of the thread, by path and, once
  // for each distinct segment, by segment.
  template <typename Add>
  void AddToOpen(SimThread& thread, const Add& add) {
    if (!thread.in_scope) return;
    for (const OpenCall& call : thread.stack) {
      const bool top = &call == &thread.stack.back();
      add(*call.by_path, true, top);
      add(*call.by_segment, call.outermost, top);
    }
  }

  // `counting`: the machine works; else only its clock advances.
  void AdvanceTo(std::uint64_t time_ns, bool counting = true);
  // A part of such a step, in which nothing else happens. `cycles`: of each CPU
  // in twice a nanosecond, since `since_ns`.
  void Pass(std::uint64_t time_ns, bool counting,
            const std::vector<std::uint64_t>& cycles, std::uint64_t since_ns);
  // The range of the truth begins or ends now.
  void BeginRange();
  void EndRange();
  void TellThreads(Truth& truth) const;
  void Reset(std::uint32_t cpu);
  void Unplug();
  void DumpLast(CountersReason reason);
  std::uint64_t Mask() const {
    return options_.counter_width >= 64
               ? ~std::uint64_t{0}
               : (std::uint64_t{1} << options_.counter_width) - 1;
  }
  // The value of an event's counter.
  std::uint64_t Shown(std::uint32_t cpu, std::size_t event) const {
    return (counters_[cpu][event] - reset_at_[cpu][event]) & Mask();
  }
  void DescribeCounters(logformat::TraceInfo& info) const;
  // The machine in its present state, until `end_ns`.
  TrueInstant Instant(std::uint64_t end_ns) const;
  void Count(std::uint32_t cpu, std::size_t event, std::uint64_t amount);
  // The scheduler adds its run time, but the latest `later_ns`, to the thread.
  void CountRunTime(std::uint32_t cpu, std::uint64_t later_ns);
  Counters Values(std::uint32_t cpu) const {
    Counters values;
    for (std::size_t i = 0; i < kSimulatedEvents; ++i) {
      values.push_back(Shown(cpu, i));
    }
    if (!options_.event_sets) return values;
    const Turn& turn = turns_[cpu];
    values.back() = turn.counted[turn.set] & Mask();
    values.push_back(turn.running_ns[turn.set]);
    return values;
  }
  void ChangeSet(std::uint32_t cpu);
  bool IsRecorded(int thread) const {
    return thread >= 0 && (!options_.command_scope ||
                           threads_[static_cast<std::size_t>(thread)].in_scope);
  }
  std::uint32_t TidOf(int thread) const {
    return thread < 0 ? 0
                      : static_cast<std::uint32_t>(
                            threads_[static_cast<std::size_t>(thread)].tid);
  }

  std::size_t NewThread(std::optional<std::size_t> parent, bool new_process,
                        bool in_scope);
  std::int32_t FreshTid();
  void Switch(std::uint32_t cpu, int next, std::uint16_t state);
  void Enter(SimThread& thread);
  void EnterSegment(SimThread& thread, std::uint32_t segment);
  // `end_known`: not observed, but nothing to infer (its thread's exit).
  void Leave(SimThread& thread, bool observed, bool end_known = false);
  // Perhaps records a jump out of the `left` innermost calls. Returns true if
  // it did.
  bool RecordJump(const SimThread& thread, std::size_t left);
  void Record(const SimThread& thread, std::uint32_t segment, bool exit);
  bool ActOnInterrupts(std::uint32_t cpu);
  bool InSystemCall(const SimThread& thread) const {
    return !thread.stack.empty() && IsSystemCall(thread.stack.back().segment);
  }
  void Act(std::uint32_t cpu);
  // Makes some of the blocked threads runnable.
  void WakeSome();
  void Wake(SimThread& thread);
  // `by`: the cause; the function fills in who blocked.
  void EndBlocked(SimThread& thread, TrueWaking by);
  static void AddBlocked(const SimThread& thread, TrueWaking by,
                         std::uint64_t ns, Truth& truth);
  // A wake-up shows that it was blocked.
  void Unpark(SimThread& thread);
  void ExitThread(std::uint32_t cpu);
  std::optional<int> PickRunnable();
  // Some thread may use other CPUs from now on.
  void ChangeAffinity();
  std::uint16_t StateAndFlags(int prev, int next, std::uint16_t state) const;
  std::vector<SimulatedQueues::Occupant> Occupants() const;
  void TellPreemptions();

  SimulationOptions options_;
  std::mt19937 random_;
  std::mt19937 jump_random_;  // the machine is the same without these records
  std::mt19937 affinity_random_;
  std::unique_ptr<MemoryTrace> trace_;
  Truth truth_;
  SimulatedQueues queues_;
  std::vector<SimThread> threads_;
  std::vector<SimThread> work_;             // interrupts, by CPU
  std::vector<int> running_;                // by CPU, -1 = idle
  std::vector<std::uint64_t> run_time_ns_;  // by CPU, not yet counted
  std::vector<SimulatedCounts> counters_;
  std::vector<SimulatedCounts> reset_at_;  // counters_ at their last reset to 0
  std::uint32_t online_ = 0;               // CPUs [0, online_) are online
  struct Turn {                            // event sets of a CPU
    std::uint32_t set = 0;
    bool waits = false;  // no set is counted
    std::array<std::uint64_t, 2> counted{}, running_ns{};
  };
  std::vector<Turn> turns_;
  std::vector<std::int32_t> free_tids_;
  std::int32_t next_tid_ = 100;
  std::uint64_t now_ns_ = 1000;
  std::optional<Truth> of_range_;
};

void Machine::Count(std::uint32_t cpu, std::size_t event,
                    std::uint64_t amount) {
  counters_[cpu][event] += amount;
  if (event == 4 && !turns_[cpu].waits) {
    turns_[cpu].counted[turns_[cpu].set] += amount;
    if (turns_[cpu].set == 0) truth_.cycles_in_turns += amount;
  }
  truth_.total[event] += amount;
  const bool interrupted = !work_[cpu].stack.empty();
  if (event == 4 && (interrupted || running_[cpu] >= 0)) {
    SimThread& worker = interrupted
                            ? work_[cpu]
                            : threads_[static_cast<std::size_t>(running_[cpu])];
    AddToOpen(worker, [amount](TrueSegment& sums, bool incl, bool excl) {
      sums.cycles_incl += incl ? amount : 0;
      sums.cycles_excl += excl ? amount : 0;
    });
  }
  if (interrupted) {
    truth_.interrupts_total[event] += amount;
  } else if (IsRecorded(running_[cpu])) {
    threads_[static_cast<std::size_t>(running_[cpu])].truth.counts[event] +=
        amount;
    truth_.processes_total[event] += amount;
  } else if (options_.command_scope) {
    truth_.outside_total[event] += amount;
  } else {
    truth_.idle_total[event] += amount;
  }
}

void Machine::CountRunTime(std::uint32_t cpu, std::uint64_t later_ns) {
  if (!options_.run_time || running_[cpu] < 0) return;
  const std::uint64_t ns =
      run_time_ns_[cpu] - std::min(run_time_ns_[cpu], later_ns);
  run_time_ns_[cpu] -= ns;
  counters_[cpu][1] += ns;
  if (!IsRecorded(running_[cpu])) return;
  threads_[static_cast<std::size_t>(running_[cpu])].truth.counts[1] += ns;
}

TrueInstant Machine::Instant(std::uint64_t end_ns) const {
  TrueInstant instant{};
  instant.begin_ns = now_ns_;
  instant.end_ns = end_ns;
  instant.total = truth_.total;
  for (std::uint32_t cpu = 0; cpu < options_.cpus; ++cpu) {
    TrueInstant::Cpu& now = instant.cpus.emplace_back();
    const bool recorded = IsRecorded(running_[cpu]);
    now.outside = options_.command_scope && !recorded;
    now.tid = recorded ? static_cast<std::int32_t>(TidOf(running_[cpu])) : 0;
    for (const OpenCall& call : work_[cpu].stack) {
      now.interrupts.push_back(Name(call.segment));
    }
    now.interrupts_ns = truth_.interrupts_ns[cpu];
  }
  for (const SimThread& thread : threads_) {
    if (!thread.live || (options_.command_scope && !thread.in_scope)) continue;
    const bool has_cpu = thread.cpu >= 0;
    TrueInstant::Thread& now = instant.threads.emplace_back();
    now.pid = thread.pid;
    now.tid = thread.tid;
    now.cpu = thread.cpu;
    now.on_cpu =
        has_cpu && work_[static_cast<std::size_t>(thread.cpu)].stack.empty();
    now.waiting = !has_cpu && thread.counts_wait;
    now.throttled = now.waiting && thread.throttled;
    now.blocked = !has_cpu && thread.blocked;
    now.on_cpu_ns = thread.truth.on_cpu_ns;
    now.wait_ns = thread.truth.wait_ns;
    now.blocked_ns = thread.truth.blocked_ns;
    now.dispatches = thread.truth.dispatches;
    now.counts = thread.truth.counts;
    for (const OpenCall& call : thread.stack) {
      now.open.push_back({Name(call.segment), call.begin_ns,
                          thread.truth.on_cpu_ns - call.on_cpu_ns});
    }
  }
  return instant;
}

void Machine::AdvanceTo(std::uint64_t time_ns, bool counting) {
  if (options_.instants && time_ns != now_ns_) {
    truth_.instants.push_back(Instant(time_ns));
  }
  std::vector<std::uint64_t> cycles;
  if (counting && time_ns != now_ns_) {
    for (std::uint32_t cpu = 0; cpu < online_; ++cpu) {
      cycles.push_back(Pick(5));
    }
  }
  const std::uint64_t since_ns = now_ns_;
  if (options_.range_from_ns > now_ns_ && options_.range_from_ns <= time_ns) {
    Pass(options_.range_from_ns, counting, cycles, since_ns);
    BeginRange();
  }
  if (options_.range_until_ns > now_ns_ && options_.range_until_ns <= time_ns) {
    Pass(options_.range_until_ns, counting, cycles, since_ns);
    EndRange();
  }
  Pass(time_ns, counting, cycles, since_ns);
}

void Machine::BeginRange() {
  const std::set<std::int32_t> reused = truth_.reused_tids;
  std::vector<TrueProcess> processes = std::move(truth_.processes);
  truth_ = Truth();
  truth_.reused_tids = reused;
  truth_.processes = std::move(processes);  // open calls point into it
  for (TrueProcess& process : truth_.processes) {
    for (auto* sums : {&process.by_segment, &process.by_path}) {
      for (auto& [name, sum] : *sums) sum = TrueSegment();
    }
  }
  truth_.busy_ns.assign(options_.cpus, 0);
  truth_.idle_ns = truth_.outside_ns = truth_.interrupts_ns = truth_.busy_ns;
  for (SimThread& thread : threads_) {
    const TrueThread who = thread.truth;
    thread.truth = TrueThread();
    thread.truth.pid = who.pid;
    thread.truth.tid = who.tid;
    thread.truth.process = who.process;
    thread.ended_before = !thread.live;
    thread.blocked_since_ns = now_ns_;
    thread.parked_ns = 0;
  }
}

void Machine::EndRange() {
  const std::map<TrueWaking, TrueBlocked> wakings = truth_.wakings;
  for (SimThread& thread : threads_) {
    if (!thread.live || !thread.blocked) continue;
    thread.parked_in_range_ns = thread.parked_ns;
    if (thread.parked) continue;
    TrueWaking by;
    by.kind = "still_blocked";
    EndBlocked(thread, by);
    thread.blocked = true;
  }
  of_range_ = truth_;
  truth_.wakings = wakings;
  TellThreads(*of_range_);
}

void Machine::TellThreads(Truth& truth) const {
  for (const SimThread& thread : threads_) {
    if (options_.command_scope && !thread.in_scope) continue;
    (thread.ended_before ? truth.earlier_threads : truth.threads)
        .push_back(thread.truth);
  }
}

void Machine::Pass(std::uint64_t time_ns, bool counting,
                   const std::vector<std::uint64_t>& cycles,
                   std::uint64_t since_ns) {
  const std::uint64_t begin_ns = now_ns_;
  const std::uint64_t step_ns = time_ns - now_ns_;
  now_ns_ = time_ns;
  if (step_ns == 0) return;
  if (online_ != options_.cpus) truth_.absent_ns += step_ns;
  for (std::uint32_t cpu = 0; cpu < online_; ++cpu) {
    if (counting) {
      Count(cpu, 0,
            step_ns);  // counts on the CPU, not in a task: also while idle
      if (!options_.run_time) {
        Count(cpu, 1, step_ns);
      } else if (running_[cpu] >= 0) {
        // Now and then a hypervisor takes half of it.
        run_time_ns_[cpu] += step_ns - (begin_ns % 3 == 0 ? step_ns / 2 : 0);
      }
      if (!turns_[cpu].waits) {
        turns_[cpu].running_ns[turns_[cpu].set] += step_ns;
      }
      const auto upto = [&](std::uint64_t at_ns) {
        return cycles[cpu] * (at_ns - since_ns) / 2 * options_.cycles_scale;
      };
      Count(cpu, 4, upto(time_ns) - upto(begin_ns));
    }
    if (!work_[cpu].stack.empty()) {
      truth_.interrupts_ns[cpu] += step_ns;
      AddToOpen(work_[cpu], [&](TrueSegment& sums, bool incl, bool excl) {
        sums.wall_incl += incl ? step_ns : 0;
        sums.wall_excl += excl ? step_ns : 0;
        sums.on_cpu_incl += incl ? step_ns : 0;
        sums.on_cpu_excl += excl ? step_ns : 0;
      });
    } else if (IsRecorded(running_[cpu])) {
      truth_.busy_ns[cpu] += step_ns;
    } else if (options_.command_scope) {
      truth_.outside_ns[cpu] += step_ns;
    } else {
      truth_.idle_ns[cpu] += step_ns;
    }
  }
  const std::vector<SimulatedQueues::Occupant> occupants = Occupants();
  const std::vector<SimulatedQueues::Occupant> quota(options_.cpus,
                                                     {"throttled"});
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    if (threads_[i].live && threads_[i].cpu < 0 && threads_[i].counts_wait) {
      queues_.Step(static_cast<int>(i),
                   threads_[i].throttled ? quota : occupants, step_ns);
    }
  }
  for (SimThread& thread : threads_) {
    if (!thread.live) continue;
    const bool has_cpu = thread.cpu >= 0;
    const bool on_cpu =
        has_cpu && work_[static_cast<std::size_t>(thread.cpu)].stack.empty();
    if (on_cpu) {
      thread.truth.on_cpu_ns += step_ns;
      if (!thread.stack.empty()) truth_.on_cpu_in_segments += step_ns;
    } else if (!has_cpu && thread.counts_wait) {
      thread.truth.wait_ns += step_ns;
      if (thread.throttled) thread.truth.throttled_ns += step_ns;
    } else if (!has_cpu && thread.blocked) {
      (thread.parked ? thread.parked_ns : thread.truth.blocked_ns) += step_ns;
    }
    const bool waits = !has_cpu && thread.counts_wait;
    const bool blocked = !has_cpu && thread.blocked;
    AddToOpen(thread, [&](TrueSegment& sums, bool incl, bool excl) {
      sums.wait_incl += incl && waits ? step_ns : 0;
      sums.wait_excl += excl && waits ? step_ns : 0;
      sums.blocked_incl += incl && blocked ? step_ns : 0;
      sums.blocked_excl += excl && blocked ? step_ns : 0;
      sums.wall_incl += incl ? step_ns : 0;
      sums.wall_excl += excl ? step_ns : 0;
      sums.on_cpu_incl += incl && on_cpu ? step_ns : 0;
      sums.on_cpu_excl += excl && on_cpu ? step_ns : 0;
    });
  }
}

std::vector<SimulatedQueues::Occupant> Machine::Occupants() const {
  std::vector<SimulatedQueues::Occupant> occupants;
  for (std::uint32_t cpu = 0; cpu < options_.cpus; ++cpu) {
    if (cpu >= online_) {
      occupants.push_back({"not_known"});
    } else if (!work_[cpu].stack.empty()) {
      occupants.push_back({"interrupts"});
    } else if (IsRecorded(running_[cpu])) {
      occupants.push_back({"thread", running_[cpu]});
    } else {
      occupants.push_back({options_.command_scope ? "outside" : "idle"});
    }
  }
  return occupants;
}

void Machine::TellPreemptions() {
  queues_.EndAll();
  for (const auto& [kept, sum] : queues_.sums()) {
    const SimThread& thread = threads_[static_cast<std::size_t>(kept.thread)];
    if (options_.command_scope && !thread.in_scope) continue;
    TruePreemption& truth = truth_.preemptions.emplace_back();
    truth.pid = thread.pid;
    truth.tid = thread.tid;
    truth.kind = kept.by.kind;
    if (kept.by.thread >= 0) {
      const SimThread& by = threads_[static_cast<std::size_t>(kept.by.thread)];
      truth.by_pid = by.pid;
      truth.by_tid = by.tid;
    }
    truth.times = sum.times;
    truth.ns = sum.ns;
    truth.longest_ns = sum.longest_ns;
  }
}

void Machine::Reset(std::uint32_t cpu) {
  // Resets only where the step back to 0 is no possible wrap, and where the
  // counter cannot catch up before the next dump.
  const std::uint64_t shown = Shown(cpu, 4);
  const bool narrow = options_.counter_width < 64;
  const std::uint64_t least =
      narrow ? Mask() / 4 : 200'000 * options_.cycles_scale;
  if (shown < least || (narrow && shown > Mask() / 4 * 3)) return;
  ++truth_.resets;
  reset_at_[cpu][4] = counters_[cpu][4];
}

void Machine::DumpLast(CountersReason reason) {
  AdvanceTo(now_ns_ + 10);
  for (SimThread& work : work_) {
    while (!work.stack.empty()) Leave(work, /*observed=*/true);
  }
  for (std::uint32_t cpu = 0; cpu < online_; ++cpu) {
    CountRunTime(cpu, 0);
    trace_->Dump(now_ns_, static_cast<std::int32_t>(cpu), reason,
                 TidOf(running_[cpu]), Values(cpu));
  }
}

void Machine::Unplug() {
  const std::uint32_t cpu = --online_;
  const auto number = static_cast<std::int32_t>(cpu);
  while (!work_[cpu].stack.empty()) Leave(work_[cpu], /*observed=*/true);
  if (running_[cpu] >= 0) Switch(cpu, -1, logformat::kSwitchPreempted);
  trace_->Dump(now_ns_, number,
               options_.unplug == SimulationOptions::Unplug::kWithLastDump
                   ? CountersReason::kEnd
                   : CountersReason::kTick,
               0, Values(cpu));
  if (options_.unplug == SimulationOptions::Unplug::kCut) {
    trace_->CutStream(number, 1 + Pick(8));
  }
}

void Machine::DescribeCounters(logformat::TraceInfo& info) const {
  if (options_.counter_width >= 64 && !options_.rates) return;
  for (std::size_t i = 0; i < info.cpu_events.size(); ++i) {
    logformat::CounterLimit limit;
    limit.width = options_.counter_width;
    if (options_.rates) limit.per_second = 1'000'000'000;
    if (options_.rates && i >= 4) {
      limit.per_second = 2'000'000'000 * options_.cycles_scale;
    }
    info.cpu_counter_limits.push_back(limit);
  }
}

void Machine::ChangeSet(std::uint32_t cpu) {
  const auto number = static_cast<std::int32_t>(cpu);
  const std::uint32_t tid = TidOf(running_[cpu]);
  trace_->Dump(now_ns_, number, CountersReason::kSetEnd, tid, Values(cpu));
  // For a moment neither set is counted, and something may happen in it.
  turns_[cpu].waits = true;
  AdvanceTo(now_ns_ + Pick(20));
  turns_[cpu].waits = false;
  turns_[cpu].set ^= 1;
  trace_->SetEventSet(number, turns_[cpu].set);
  trace_->Dump(now_ns_, number, CountersReason::kSetBegin, tid, Values(cpu));
}

std::int32_t Machine::FreshTid() {
  if (!free_tids_.empty() && Pick(2) == 0) {
    const std::int32_t tid = free_tids_.back();
    free_tids_.pop_back();
    return tid;
  }
  return next_tid_++;
}

std::size_t Machine::NewThread(std::optional<std::size_t> parent,
                               bool new_process, bool in_scope) {
  SimThread thread{};
  const std::int32_t unused = next_tid_;
  thread.tid = FreshTid();
  thread.tid_used_before = thread.tid != unused;
  thread.in_scope = in_scope;
  if (thread.tid_used_before) {
    truth_.reused_tids.insert(thread.tid);
  }
  if (new_process || !parent) {
    thread.pid = thread.tid;
    thread.process = truth_.processes.size();
    truth_.processes.push_back({thread.pid, {}, {}});
  } else {
    thread.pid = threads_[*parent].pid;
    thread.process = threads_[*parent].process;
  }
  thread.truth.pid = thread.pid;
  thread.truth.tid = thread.tid;
  thread.truth.process = thread.process;
  thread.live = true;
  thread.cpu = thread.last_cpu = -1;
  thread.runnable = true;
  threads_.push_back(thread);
  return threads_.size() - 1;
}

void Machine::Switch(std::uint32_t cpu, int next, std::uint16_t state) {
  const int prev = running_[cpu];
  CountRunTime(cpu, now_ns_ % 2);
  if (next < 0) run_time_ns_[cpu] = 0;
  if (IsRecorded(prev) || IsRecorded(next)) {
    trace_->Dispatch(now_ns_, static_cast<std::int32_t>(cpu), TidOf(prev),
                     TidOf(next), StateAndFlags(prev, next, state),
                     Values(cpu));
  }
  if (prev >= 0) {
    SimThread& thread = threads_[static_cast<std::size_t>(prev)];
    AddToOpen(thread, [](TrueSegment& sums, bool incl, bool excl) {
      sums.switches_incl += incl;
      sums.switches_excl += excl;
    });
    thread.cpu = -1;
    thread.any_cpu_since = options_.affinities && thread.any_cpu;
    thread.any_cpu_changed = false;
    thread.counts_wait = logformat::IsRunnable(state);
    thread.throttled = logformat::IsThrottled(state);
    thread.runnable = thread.counts_wait;
    thread.blocked = !thread.runnable && state != logformat::kSwitchDead;
    thread.blocked_since_ns = now_ns_;
    thread.parked = state == logformat::kSwitchOther;
    thread.parked_ns = thread.parked_in_range_ns = 0;
    if (thread.counts_wait) queues_.Begin(prev, static_cast<int>(cpu));
  }
  running_[cpu] = next;
  if (next >= 0) {
    SimThread& thread = threads_[static_cast<std::size_t>(next)];
    queues_.End(next, static_cast<int>(cpu),
                thread.any_cpu_since ? options_.least_idle_ns : 0);
    ++thread.truth.dispatches;
    if (thread.last_cpu >= 0 && thread.last_cpu != static_cast<int>(cpu)) {
      ++thread.truth.migrations;
    }
    thread.cpu = thread.last_cpu = static_cast<int>(cpu);
    thread.counts_wait = false;
    if (thread.blocked && !thread.parked) {
      TrueWaking by;
      by.kind = "not_told";
      EndBlocked(thread, by);
    }
    thread.blocked = false;
  }
  // As in the kernel: counted after the tracepoint, for the thread switched in.
  Count(cpu, 3, 1);
}

void Machine::ChangeAffinity() {
  if (!options_.affinities || affinity_random_() % 4 != 0) return;
  SimThread& thread = threads_[affinity_random_() % threads_.size()];
  if (thread.any_cpu_changed) return;
  thread.any_cpu_changed = thread.cpu < 0;
  thread.any_cpu = !thread.any_cpu;
  thread.any_cpu_since &= thread.any_cpu;
}

std::uint16_t Machine::StateAndFlags(int prev, int next,
                                     std::uint16_t state) const {
  if (!options_.affinities) return state;
  const auto flag = [&](int thread, std::uint16_t bit) {
    return thread >= 0 && threads_[static_cast<std::size_t>(thread)].any_cpu
               ? bit
               : std::uint16_t{0};
  };
  const int flags = flag(prev, 0x400) | flag(next, 0x800);
  if (flags != 0 && state == logformat::kSwitchRunnable) {
    state = logformat::kSwitchPreempted;
  }
  return static_cast<std::uint16_t>(flags | state);
}

// 0, 1, 2 or an error.
std::uint64_t ReturnedAt(std::uint64_t ns) {
  const std::uint64_t number = ns / 8 % 4;
  return number == 3 ? ~std::uint64_t{1} : number;
}

void Machine::Record(const SimThread& thread, std::uint32_t segment,
                     bool exit) {
  const std::uint32_t hook = HookOf(segment);
  std::vector<std::uint64_t> values;
  if (options_.values && !exit && segment < kFirstInterrupt) {
    values.push_back(now_ns_ / 8 % 5);
  }
  if (hook < logformat::kHookIdKernelMin) {
    trace_->HookRecord(now_ns_,
                       {thread.pid, thread.tid, hook, exit, 0, values});
    return;
  }
  // The record of an interrupt names the interrupted thread.
  const auto cpu = static_cast<std::uint32_t>(thread.cpu);
  const int current = running_[cpu];
  const SimThread* shown =
      current < 0 ? nullptr : &threads_[static_cast<std::size_t>(current)];
  std::optional<Counters> dump;
  if (options_.dumps) dump = Values(cpu);
  trace_->KernelHook(now_ns_, static_cast<std::int32_t>(cpu),
                     {shown == nullptr ? 0 : shown->pid,
                      shown == nullptr ? 0 : shown->tid, hook, exit, 0, values,
                      options_.values && exit ? ReturnedAt(now_ns_) : 0},
                     dump);
}

// Returns true if the CPU does nothing else now.
bool Machine::ActOnInterrupts(std::uint32_t cpu) {
  if (!options_.interrupts) return false;
  SimThread& work = work_[cpu];
  const bool recorded = !options_.command_scope || IsRecorded(running_[cpu]);
  if (recorded && work.stack.size() < 3 && Pick(12) == 0) {
    EnterSegment(work, kFirstInterrupt + static_cast<std::uint32_t>(Pick(2)));
    return true;
  }
  if (work.stack.empty()) return false;
  if (Pick(2) == 0) Leave(work, /*observed=*/true);
  return true;
}

void Machine::Enter(SimThread& thread) {
  if (options_.system_calls && thread.cpu >= 0 && Pick(3) == 0) {
    EnterSegment(thread,
                 kFirstSystemCall + static_cast<std::uint32_t>(Pick(2)));
  } else {
    EnterSegment(thread, static_cast<std::uint32_t>(Pick(kFirstSystemCall)));
  }
}

void Machine::EnterSegment(SimThread& thread, std::uint32_t segment) {
  const bool outermost = std::none_of(
      thread.stack.begin(), thread.stack.end(),
      [&](const OpenCall& call) { return call.segment == segment; });
  thread.stack.push_back(
      {segment, now_ns_, thread.truth.on_cpu_ns, outermost, nullptr, nullptr});
  TrueProcess& process = truth_.processes[thread.process];
  OpenCall& call = thread.stack.back();
  call.by_path = &process.by_path[PathOf(thread, thread.stack.size())];
  call.by_segment = &process.by_segment[Name(segment)];
  ++call.by_path->calls;
  ++call.by_segment->calls;
  Record(thread, segment, /*exit=*/false);
}

void Machine::Leave(SimThread& thread, bool observed, bool end_known) {
  const OpenCall call = thread.stack.back();
  for (TrueSegment* sums : {call.by_path, call.by_segment}) {
    sums->durations.push_back(now_ns_ - call.begin_ns);
    if (!observed && !end_known) ++sums->end_inferred;
  }
  thread.stack.pop_back();
  if (observed) Record(thread, call.segment, /*exit=*/true);
}

bool Machine::RecordJump(const SimThread& thread, std::size_t left) {
  const std::size_t kept = thread.stack.size() - left;
  const std::uint64_t since_ns = thread.stack[kept - 1].begin_ns;
  // At equal times the record cannot separate them.
  if (jump_random_() % 2 == 0 || thread.stack[kept].begin_ns == since_ns)
    return false;
  trace_->HookRecord(now_ns_,
                     {thread.pid, thread.tid, kJumpHook, false, 0, {since_ns}});
  return true;
}

void Machine::Unpark(SimThread& thread) {
  if (!thread.parked) return;
  thread.parked = false;
  thread.truth.blocked_ns += thread.parked_ns;
  const std::uint64_t ns = thread.parked_in_range_ns;
  if (ns == 0) return;
  for (TrueThread& truth : of_range_->threads) {
    if (truth.tid == thread.tid && truth.process == thread.process) {
      truth.blocked_ns += ns;
    }
  }
  TrueWaking by;
  by.kind = "still_blocked";
  AddBlocked(thread, by, ns, *of_range_);
}

void Machine::EndBlocked(SimThread& thread, TrueWaking by) {
  thread.blocked = false;
  if (!options_.wakeups || (options_.command_scope && !thread.in_scope)) return;
  AddBlocked(thread, std::move(by), now_ns_ - thread.blocked_since_ns, truth_);
}

void Machine::AddBlocked(const SimThread& thread, TrueWaking by,
                         std::uint64_t ns, Truth& truth) {
  by.pid = thread.pid;
  by.process = thread.process;
  by.path = PathOf(thread, thread.stack.size());
  TrueBlocked& sum = truth.wakings[by];
  ++sum.times;
  sum.ns += ns;
  sum.longest_ns = std::max(sum.longest_ns, ns);
}

void Machine::Wake(SimThread& thread) {
  if (Pick(6) == 0) return;  // no record of the wake-up
  const auto cpu = static_cast<std::uint32_t>(Pick(online_));
  const int current = running_[cpu];
  const SimThread* waker =
      current < 0 ? nullptr : &threads_[static_cast<std::size_t>(current)];
  // A wake-up of a thread that is not recorded is recorded only if its waker
  // is.
  const bool recorded = !options_.command_scope || thread.in_scope;
  if (!recorded && !IsRecorded(current)) return;
  trace_->Wakeup(now_ns_, static_cast<std::int32_t>(cpu), TidOf(current),
                 static_cast<std::uint32_t>(thread.tid));
  if (!recorded) return;
  Unpark(thread);
  thread.counts_wait = true;
  thread.throttled = false;
  queues_.Begin(static_cast<int>(&thread - threads_.data()), -1);
  TrueWaking by;
  const SimThread& work = work_[cpu];
  if (!work.stack.empty()) {
    by.kind = "interrupt";
    by.waker_segment = Name(work.stack.back().segment);
  } else if (waker == nullptr) {
    by.kind = "idle";
  } else if (!IsRecorded(current)) {
    by.kind = "outside";
  } else {
    by.kind = "thread";
    by.waker_pid = waker->pid;
    by.waker_process = waker->process;
    if (!waker->stack.empty()) {
      by.waker_segment = Name(waker->stack.back().segment);
    }
  }
  EndBlocked(thread, by);
}

void Machine::WakeSome() {
  bool any = false;
  for (SimThread& thread : threads_) {
    if (!thread.live || thread.cpu >= 0 || thread.runnable || Pick(4) != 0) {
      continue;
    }
    thread.runnable = true;
    if (options_.wakeups) Wake(thread);
    any = true;
  }
  // The next event comes later, on any CPU.
  if (any && options_.wakeups) AdvanceTo(now_ns_ + 1);
}

std::optional<int> Machine::PickRunnable() {
  std::vector<int> candidates;
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    const SimThread& thread = threads_[i];
    if (thread.live && thread.runnable && thread.cpu < 0) {
      candidates.push_back(static_cast<int>(i));
    }
  }
  if (candidates.empty()) return std::nullopt;
  return candidates[Pick(candidates.size())];
}

void Machine::ExitThread(std::uint32_t cpu) {
  const int index = running_[cpu];
  SimThread& thread = threads_[static_cast<std::size_t>(index)];
  if (thread.in_scope) {
    while (!thread.stack.empty()) {
      Leave(thread, /*observed=*/false, /*end_known=*/InSystemCall(thread));
    }
    trace_->Exit(now_ns_, static_cast<std::int32_t>(cpu),
                 {thread.pid, thread.tid, 0, 0});
  }
  AdvanceTo(now_ns_ + 1 + Pick(20));
  Switch(cpu, PickRunnable().value_or(-1), logformat::kSwitchDead);
  threads_[static_cast<std::size_t>(index)].live = false;
  // The tid becomes free; the pid only when no thread of the process is left.
  const std::int32_t tid = threads_[static_cast<std::size_t>(index)].tid;
  const std::int32_t pid = threads_[static_cast<std::size_t>(index)].pid;
  bool process_lives = false;
  for (const SimThread& other : threads_) {
    process_lives |= other.live && other.pid == pid;
  }
  if (tid != pid) free_tids_.push_back(tid);
  if (!process_lives) free_tids_.push_back(pid);
}

void Machine::Act(std::uint32_t cpu) {
  if (ActOnInterrupts(cpu)) return;
  const int current = running_[cpu];
  if (current < 0) {
    if (const auto next = PickRunnable()) {
      Switch(cpu, *next, logformat::kSwitchRunnable);
      SimThread& thread = threads_[static_cast<std::size_t>(*next)];
      // A hook at the same time as the switch-in.
      if (thread.in_scope && !InSystemCall(thread) && Pick(3) == 0) {
        Enter(thread);
      }
    }
    return;
  }
  SimThread& thread = threads_[static_cast<std::size_t>(current)];
  const std::uint64_t action = Pick(100);
  if (InSystemCall(thread) && action < 60) {
    // The program's own code does nothing during it.
    if (action < 40) Leave(thread, /*observed=*/true);
  } else if (action < 30 && thread.in_scope && thread.stack.size() < 7) {
    Enter(thread);
  } else if (action < 60 && thread.in_scope && !thread.stack.empty()) {
    // Sometimes longjmp: leaves several calls, with one recorded exit.
    std::uint64_t frames = Pick(12) == 0 ? 1 + Pick(thread.stack.size()) : 1;
    const std::uint32_t target =
        thread.stack[thread.stack.size() - frames].segment;
    // An inner call of the same segment would match the exit.
    for (std::uint64_t i = 1; i < frames; ++i) {
      if (thread.stack[thread.stack.size() - i].segment == target) frames = i;
    }
    const bool recorded = frames > 1 && RecordJump(thread, frames - 1);
    while (frames-- > 1) {
      Leave(thread, /*observed=*/false, /*end_known=*/recorded);
    }
    Leave(thread, /*observed=*/true);
  } else if (action < 72) {
    Count(cpu, 2, 1);
    if (thread.in_scope || !options_.command_scope) {
      trace_->Fault(now_ns_, static_cast<std::int32_t>(cpu),
                    {thread.pid, thread.tid, 0, 0});
    }
    if (!thread.stack.empty()) ++truth_.faults_in_segments;
    AddToOpen(thread, [](TrueSegment& sums, bool incl, bool excl) {
      sums.faults_incl += incl;
      sums.faults_excl += excl;
    });
  } else if (action < 75 && threads_.size() < 60) {
    const bool new_process = Pick(3) == 0;
    const std::size_t child = NewThread(static_cast<std::size_t>(current),
                                        new_process, thread.in_scope);
    const SimThread& parent = threads_[static_cast<std::size_t>(current)];
    if (IsRecorded(current)) {
      trace_->Fork(
          now_ns_, static_cast<std::int32_t>(cpu),
          {threads_[child].pid, threads_[child].tid, parent.pid, parent.tid});
      // The kernel assigns tids in sequence: to reuse one within a single loss,
      // that loss must contain as many forks as there are tids.
      if (threads_[child].tid_used_before) trace_->KeepLast();
      if (options_.wakeups && Pick(2) == 0) {
        trace_->Wakeup(now_ns_, static_cast<std::int32_t>(cpu), TidOf(current),
                       static_cast<std::uint32_t>(threads_[child].tid));
        threads_[child].counts_wait = true;
        queues_.Begin(static_cast<int>(child), -1);
      }
    }
  } else if (action < 77) {
    ExitThread(cpu);
  } else {
    static constexpr std::uint16_t kStates[] = {
        logformat::kSwitchRunnable, logformat::kSwitchInterruptible,
        logformat::kSwitchUninterruptible, logformat::kSwitchPreempted};
    const auto next = Pick(4) == 0 ? std::nullopt : PickRunnable();
    std::uint16_t state = kStates[Pick(4)];
    // As threads of the kernel, without calls.
    if (options_.parks && thread.stack.empty() && Pick(2) == 0) {
      state = logformat::kSwitchOther;
    }
    if (options_.quotas && state == logformat::kSwitchPreempted &&
        Pick(2) == 0) {
      state = logformat::kSwitchThrottled;
    }
    Switch(cpu, next.value_or(-1), state);
  }
}

Simulation Machine::Run() {
  logformat::TraceInfo& info = trace_->mutable_info();
  info.path = "simulated";
  info.cpus = options_.cpus;
  info.begin_ns = now_ns_;
  info.scope = options_.command_scope ? logformat::SessionScope::kCommand
                                      : logformat::SessionScope::kSystem;
  info.cpu_events = {"task-clock", "cpu-clock", "page-faults",
                     "context-switches", "cycles"};
  if (options_.run_time) info.cpu_events[1] = "exec-runtime";
  if (options_.event_sets) {
    info.cpu_events.emplace_back("instructions");
    info.cpu_set_sizes = {1, 1};
  }
  for (std::uint32_t i = 0; i < std::size(kSegmentNames); ++i) {
    // With kernel hooks the reader works in another way.
    if (IsSystemCall(i) && !options_.system_calls) continue;
    if (i >= kFirstInterrupt && !options_.interrupts) continue;
    const std::string name = kSegmentNames[i];
    const auto origin = i < kFirstSystemCall ? logformat::HookOrigin::kProgram
                        : IsSystemCall(i)    ? logformat::HookOrigin::kKernel
                                          : logformat::HookOrigin::kInterrupt;
    const bool values = options_.values && i < kFirstInterrupt;
    trace_->AddHook(HookOf(i), logformat::HookKind::kSegment,
                    name.substr(0, name.find(':')),
                    name.substr(name.find(':') + 1), origin,
                    values ? std::vector{logformat::PayloadType::kUnsigned}
                           : std::vector<logformat::PayloadType>());
  }
  for (logformat::HookInfo& hook : info.hooks) {
    if (hook.origin == logformat::HookOrigin::kKernel && options_.values) {
      hook.payload_names = {"fd"};
    }
  }
  trace_->AddHook(kJumpHook, logformat::HookKind::kPoint,
                  logformat::kJumpProvider, logformat::kJumpName,
                  logformat::HookOrigin::kProgram,
                  {logformat::PayloadType::kUnsigned});
  truth_.processes.push_back({});  // stands for interrupts
  truth_.interrupts_ns.assign(options_.cpus, 0);
  for (std::uint32_t cpu = 0; cpu < options_.cpus; ++cpu) {
    SimThread& work = work_.emplace_back();
    work.in_scope = true;
    work.cpu = static_cast<int>(cpu);
  }
  truth_.busy_ns.assign(options_.cpus, 0);
  truth_.idle_ns = truth_.outside_ns = truth_.busy_ns;
  DescribeCounters(info);
  online_ = options_.cpus;
  counters_.assign(options_.cpus, SimulatedCounts{});
  run_time_ns_.assign(options_.cpus, 0);
  reset_at_ = counters_;
  turns_.assign(options_.cpus, Turn{});
  for (SimulatedCounts& counters : counters_) {
    for (std::uint64_t& value : counters) value = Pick(1000);
    if (options_.counter_width < 64) {
      for (std::uint64_t& value : counters) value = Mask() - value;
      counters[4] = Mask() - Pick(20000) * options_.cycles_scale % Mask();
    }
  }
  running_.assign(options_.cpus, -1);

  // Begin: some threads exist, and some of them run.
  for (std::uint32_t i = 0; i < 3 + options_.cpus; ++i) {
    const std::size_t thread =
        NewThread(std::nullopt, true, !options_.command_scope || i == 0);
    if (options_.command_scope && i == 0) {
      info.root_pid = threads_[thread].pid;
    }
  }
  for (std::uint32_t cpu = 0; cpu < options_.cpus; ++cpu) {
    if (!options_.command_scope && Pick(2) == 0) {
      running_[cpu] = static_cast<int>(cpu);
      SimThread& thread = threads_[cpu];
      thread.cpu = thread.last_cpu = static_cast<int>(cpu);
      ++thread.truth.dispatches;
    }
    trace_->Dump(now_ns_, static_cast<std::int32_t>(cpu),
                 CountersReason::kBegin, TidOf(running_[cpu]), Values(cpu));
  }
  const std::uint64_t begin_ns = now_ns_;
  if (!options_.command_scope) {
    for (const SimThread& thread : threads_) {
      trace_->State(now_ns_, 0, {thread.pid, thread.tid, 1, 0}, "sim");
    }
  }

  for (std::uint32_t step = 0; step < options_.steps; ++step) {
    if (step != 0 && step == options_.snapshot_step) {
      trace_->mutable_info().snapshot_ns = now_ns_ + 10;
      DumpLast(CountersReason::kSnapshot);
    }
    AdvanceTo(now_ns_ + 1 + Pick(Pick(10) == 0 ? 5000 : 50));
    WakeSome();
    ChangeAffinity();
    if (step == options_.steps / 2) {
      if (options_.clock_step_ns != 0) {
        AdvanceTo(now_ns_ + options_.clock_step_ns, /*counting=*/false);
      }
      if (options_.unplug != SimulationOptions::Unplug::kNever && online_ > 1) {
        Unplug();
      }
    }
    if (options_.replug && step == options_.steps / 4 * 3 &&
        online_ != options_.cpus) {
      reset_at_[online_] = counters_[online_];
      trace_->Dump(now_ns_, static_cast<std::int32_t>(online_),
                   CountersReason::kBegin, 0, Values(online_));
      ++online_;
    }
    const auto cpu = static_cast<std::uint32_t>(Pick(online_));
    if (options_.resets && Pick(20) == 0) Reset(cpu);
    if (options_.event_sets && Pick(8) == 0) {
      ChangeSet(cpu);
    } else if (Pick(40) == 0) {
      trace_->Dump(now_ns_, static_cast<std::int32_t>(cpu),
                   CountersReason::kTick, TidOf(running_[cpu]), Values(cpu));
    } else {
      Act(cpu);
    }
  }

  DumpLast(CountersReason::kEnd);
  for (SimThread& thread : threads_) {
    if (thread.live && thread.blocked && !thread.parked) {
      TrueWaking by;
      by.kind = "still_blocked";
      EndBlocked(thread, by);
    }
    while (!thread.stack.empty()) Leave(thread, /*observed=*/false);
  }
  TellThreads(truth_);
  if (of_range_) {
    of_range_->reused_tids = truth_.reused_tids;
    truth_ = *std::move(of_range_);
    return {std::move(trace_), std::move(truth_)};
  }
  TellPreemptions();
  truth_.duration_ns = now_ns_ - begin_ns;
  return {std::move(trace_), std::move(truth_)};
}

}  // namespace

SimulationOptions RandomOptions(std::uint32_t seed) {
  SimulationOptions options;
  options.seed = seed;
  options.cpus = 1 + seed % 4;
  options.steps = 200 + seed % 700;
  options.command_scope = seed / 4 % 2 == 1;
  options.threads_first = seed / 8 % 2 == 1;
  options.system_calls = seed % 3 != 0;
  options.interrupts = seed % 5 != 0;
  options.dumps = seed / 2 % 2 == 1;
  options.wakeups = seed % 7 < 3;
  options.quotas = seed % 11 < 5;
  return options;
}

Simulation Simulate(const SimulationOptions& options) {
  return Machine(options).Run();
}

}  // namespace countrace::test_support
