#include "tests/rmap/busy_machine.h"

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "logformat/system_call_exit.h"
#include "tests/rmap/lost_records.h"

namespace countrace::test_support {
namespace {

using logformat::CountersReason;
using logformat::HookKind;
using logformat::HookOrigin;

class BusyMachineWriter {
 public:
  explicit BusyMachineWriter(std::uint32_t seed)
      : seed_(seed),
        random_(seed),
        trace_(std::make_unique<MemoryTrace>(seed % 2 == 1)) {}

  std::unique_ptr<MemoryTrace> Run() {
    Describe();
    for (const std::int32_t pid : {101, 102, 103}) {
      threads_.push_back({pid, pid, {}});
      threads_.push_back({pid, pid + 10, {}});
    }
    for (std::int32_t cpu = 0; cpu < kCpus; ++cpu) {
      trace_->Dump(now_ns_, cpu, CountersReason::kBegin, 0, Values(cpu));
    }
    for (const Thread& thread : threads_) {
      if (Pick(6) == 0) continue;  // the recorder did not see it
      trace_->State(now_ns_, 0, {thread.pid, thread.tid, 1, 0},
                    thread.pid == 103 ? "one" : "sim");
    }
    for (int step = 0; step < 500; ++step) Step();
    for (std::int32_t cpu = 0; cpu < kCpus; ++cpu) {
      if (seed_ % 11 == 0 && cpu == 1) continue;  // no last dump
      trace_->Dump(now_ns_ + 1, cpu, CountersReason::kEnd,
                   static_cast<std::uint32_t>(Tid(cpu)), Values(cpu));
    }
    if (seed_ % 3 != 0) {
      LostRecords lost(seed_ / 3, *trace_);
      trace_->RemoveOf(lost);
    }
    return std::move(trace_);
  }

 private:
  static constexpr std::int32_t kCpus = 2;
  static constexpr std::uint32_t kHooks = 10, kKernel = 12288;
  static constexpr std::uint32_t kRead = kKernel, kSigreturn = kKernel + 1,
                                 kClone = kKernel + 2, kFaultUser = kKernel + 3,
                                 kFaultKernel = kKernel + 4,
                                 kProbe = kKernel + 5,
                                 kTracepoint = kKernel + 6,
                                 kTimer = kKernel + 7, kSoft = kKernel + 8;
  struct Thread {
    std::int32_t pid, tid;
    std::vector<std::uint32_t> open;  // hooks
    bool blocked = false, exited = false;
  };

  std::uint64_t Pick(std::uint64_t n) { return random_() % n; }
  static bool IsKernel(std::uint32_t hook) {
    return hook >= kRead && hook <= kFaultKernel;
  }
  static bool IsFault(std::uint32_t hook) {
    return hook == kFaultUser || hook == kFaultKernel;
  }
  std::int32_t Tid(std::int32_t cpu) const {
    const int at = running_[static_cast<std::size_t>(cpu)];
    return at < 0 ? 0 : threads_[static_cast<std::size_t>(at)].tid;
  }
  Counters Values(std::int32_t cpu) const {
    const auto& counts = counts_[static_cast<std::size_t>(cpu)];
    return {counts.begin(), counts.end()};
  }
  // Every second trace has no dumps at kernel hooks.
  std::optional<Counters> HookDumpOf(std::int32_t cpu) {
    if (seed_ % 2 == 0 || Pick(4) == 0) return std::nullopt;
    return Values(cpu);
  }

  void Describe() {
    logformat::TraceInfo& info = trace_->mutable_info();
    info.cpus = kCpus;
    info.begin_ns = now_ns_;
    info.scope = seed_ % 5 == 4 ? logformat::SessionScope::kCommand
                                : logformat::SessionScope::kSystem;
    if (seed_ % 5 >= 3) info.root_pid = 101;
    if (seed_ % 7 == 0) info.recorder_pid = 102;
    info.cpu_events = {"task-clock",  "exec-runtime", "context-switches",
                       "page-faults", "minor-faults", "page-faults:u",
                       "instructions"};
    for (std::uint32_t i = 0; i < 3; ++i) {
      trace_->AddHook(kHooks + i, HookKind::kSegment, "sim",
                      std::string(1, static_cast<char>('a' + i)));
    }
    const auto add = [this](std::uint32_t hook, HookKind kind,
                            const char* provider, const char* name,
                            HookOrigin origin) {
      trace_->AddHook(hook, kind, provider, name, origin);
    };
    add(kRead, HookKind::kSegment, "syscall", "read", HookOrigin::kKernel);
    add(kSigreturn, HookKind::kSegment, "syscall", "rt_sigreturn",
        HookOrigin::kKernel);
    add(kClone, HookKind::kSegment, "syscall", "clone", HookOrigin::kKernel);
    add(kFaultUser, HookKind::kSegment, "fault", "user", HookOrigin::kKernel);
    add(kFaultKernel, HookKind::kSegment, "fault", "kernel",
        HookOrigin::kKernel);
    if (seed_ % 4 == 1) {
      add(kProbe, HookKind::kSegment, "uprobe", "f", HookOrigin::kProbe);
    }
    add(kTracepoint, HookKind::kPoint, "sched", "t", HookOrigin::kKernel);
    if (seed_ % 3 != 2) {
      add(kTimer, HookKind::kSegment, "irq", "timer", HookOrigin::kInterrupt);
      add(kSoft, HookKind::kSegment, "softirq", "RCU", HookOrigin::kInterrupt);
    }
  }

  void Advance() {
    const std::uint64_t ns = 1 + Pick(Pick(20) == 0 ? 800 : 40);
    now_ns_ += ns;
    for (std::int32_t cpu = 0; cpu < kCpus; ++cpu) {
      auto& counts = counts_[static_cast<std::size_t>(cpu)];
      counts[0] += ns;
      counts[6] += Pick(3 * ns);
      // The scheduler's clock is read a little before the record.
      if (Tid(cpu) != 0) counts[1] += ns - std::min<std::uint64_t>(ns, Pick(3));
    }
  }

  void CountFault(std::int32_t cpu) {
    auto& counts = counts_[static_cast<std::size_t>(cpu)];
    ++counts[3];
    if (Pick(10) != 0) ++counts[4];
    if (Pick(2) != 0) ++counts[5];
  }

  void Switch(std::int32_t cpu) {
    std::vector<int> ready = {-1};
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      const int at = static_cast<int>(i);
      if (std::find(running_.begin(), running_.end(), at) == running_.end() &&
          !threads_[i].blocked && !threads_[i].exited) {
        ready.push_back(at);
      }
    }
    int& runs = running_[static_cast<std::size_t>(cpu)];
    const int next = ready[Pick(ready.size())];
    if (next == runs) return;
    const auto prev = static_cast<std::uint32_t>(Tid(cpu));
    std::uint16_t state = logformat::kSwitchRunnable;
    if (runs >= 0) {
      Thread& thread = threads_[static_cast<std::size_t>(runs)];
      if (thread.exited) {
        state = logformat::kSwitchDead;
      } else if (Pick(2) == 0) {
        thread.blocked = true;
        state = logformat::kSwitchInterruptible;
      } else if (Pick(2) == 0) {
        state = logformat::kSwitchPreempted;
      }
    }
    runs = next;
    const auto to = static_cast<std::uint32_t>(Tid(cpu));
    const std::uint64_t kind = Pick(20);
    if (kind == 0 && seed_ % 4 == 3) return;  // the kernel does not show it
    if (kind < 3 && seed_ % 2 == 0) {
      trace_->SwitchIn(now_ns_, cpu, prev, to, kind == 1);
    } else {
      trace_->Dispatch(now_ns_, cpu, prev, to, state, Values(cpu));
    }
    ++counts_[static_cast<std::size_t>(cpu)][2];
  }

  void KernelHook(std::int32_t cpu, const Thread& thread, std::uint32_t hook,
                  bool exit, std::uint16_t number = 0) {
    trace_->KernelHook(now_ns_, cpu,
                       {thread.pid, thread.tid, hook, exit, number},
                       HookDumpOf(cpu));
  }

  void Enter(std::int32_t cpu, Thread& thread) {
    if (thread.open.size() > 6) return;
    const bool in_kernel = !thread.open.empty() && IsKernel(thread.open.back());
    const bool in_fault = in_kernel && IsFault(thread.open.back());
    std::uint32_t hook = kHooks + static_cast<std::uint32_t>(Pick(3));
    if (in_fault) return;
    if (in_kernel) {
      hook = kFaultKernel;
    } else if (Pick(2) == 0) {
      constexpr std::uint32_t kCalls[] = {kRead, kRead, kSigreturn, kFaultUser,
                                          kProbe};
      hook = kCalls[Pick(seed_ % 4 == 1 ? 5 : 4)];
    }
    thread.open.push_back(hook);
    if (hook < kKernel) {
      trace_->HookRecord(now_ns_, {thread.pid, thread.tid, hook, false});
      return;
    }
    KernelHook(cpu, thread, hook, /*exit=*/false);
    if (!IsFault(hook)) return;
    CountFault(cpu);
    trace_->Fault(now_ns_, cpu, {thread.pid, thread.tid, 0, 0});
  }

  void Leave(std::int32_t cpu, Thread& thread) {
    if (thread.open.empty()) return;
    const std::uint32_t hook = thread.open.back();
    thread.open.pop_back();
    if (hook == kFaultKernel && Pick(5) == 0) return;  // it failed
    if (hook == kSigreturn) {
      // The signal's handler may leave calls.
      KernelHook(cpu, thread, kSigreturn, /*exit=*/true,
                 logformat::kUnnamedSystemCall);
    } else if (hook < kKernel) {
      trace_->HookRecord(now_ns_, {thread.pid, thread.tid, hook, true});
    } else {
      KernelHook(cpu, thread, hook, /*exit=*/true);
    }
  }

  void Fork(std::int32_t cpu, Thread& parent) {
    if (threads_.size() > 14) return;
    const std::int32_t tid = next_tid_++;
    const std::int32_t pid = Pick(2) == 0 ? tid : parent.pid;
    KernelHook(cpu, parent, kClone, /*exit=*/false);
    trace_->Fork(now_ns_, cpu, {pid, tid, parent.pid, parent.tid});
    KernelHook(cpu, parent, kClone, /*exit=*/true);
    threads_.push_back({pid, tid, {}});
  }

  // Any thread may call exec: it goes on with the pid as its tid.
  void Exec(std::int32_t cpu) {
    const auto at =
        static_cast<std::size_t>(running_[static_cast<std::size_t>(cpu)]);
    const std::int32_t pid = threads_[at].pid;
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      if (threads_[i].pid != pid) continue;
      threads_[i].open.clear();
      if (i == at) continue;
      // Its other threads are on no CPU then.
      if (std::count(running_.begin(), running_.end(), static_cast<int>(i)) !=
          0) {
        return;
      }
    }
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      if (threads_[i].pid == pid && i != at) threads_[i].exited = true;
    }
    threads_[at].tid = pid;
    trace_->Exec(now_ns_, cpu, {pid, pid, 0, 0}, Pick(3) == 0 ? "one" : "new");
  }

  void Interrupt(std::int32_t cpu) {
    if (seed_ % 3 == 2) return;
    std::vector<std::uint32_t>& open =
        interrupts_[static_cast<std::size_t>(cpu)];
    const int at = running_[static_cast<std::size_t>(cpu)];
    const Thread idle{0, 0, {}};
    const Thread& thread =
        at < 0 ? idle : threads_[static_cast<std::size_t>(at)];
    if (open.empty() || (open.size() < 3 && Pick(3) == 0)) {
      open.push_back(open.empty() ? kTimer : kSoft);
      KernelHook(cpu, thread, open.back(), /*exit=*/false);
    } else {
      if (Pick(10) != 0) KernelHook(cpu, thread, open.back(), /*exit=*/true);
      open.pop_back();
    }
  }

  void Wake(std::int32_t cpu) {
    for (Thread& thread : threads_) {
      if (!thread.blocked || Pick(2) == 0) continue;
      thread.blocked = false;
      if (Pick(5) == 0) continue;  // no record
      trace_->Wakeup(now_ns_, cpu, static_cast<std::uint32_t>(Tid(cpu)),
                     static_cast<std::uint32_t>(thread.tid));
    }
  }

  void Step() {
    Advance();
    const auto cpu = static_cast<std::int32_t>(Pick(kCpus));
    if (seed_ % 8 < 4 || Pick(8) == 0) Wake(cpu);
    const std::size_t index = static_cast<std::size_t>(cpu);
    const std::uint64_t action = Pick(100);
    if (action < 6 || !interrupts_[index].empty()) return Interrupt(cpu);
    if (running_[index] < 0 || action < 25) return Switch(cpu);
    Thread& thread = threads_[static_cast<std::size_t>(running_[index])];
    const MemoryTrace::Task task{thread.pid, thread.tid, 0, 0};
    if (thread.exited) return Switch(cpu);
    if (action < 50) {
      Enter(cpu, thread);
    } else if (action < 78) {
      Leave(cpu, thread);
    } else if (action < 84) {
      CountFault(cpu);
      trace_->Fault(now_ns_, cpu, task);
    } else if (action < 86) {
      // Without event sets: another program changes what is counted.
      if (seed_ % 9 == 8) {
        trace_->SetEventSet(cpu, static_cast<std::uint32_t>(Pick(2)));
      }
      trace_->Dump(now_ns_, cpu, CountersReason::kTick,
                   static_cast<std::uint32_t>(thread.tid), Values(cpu));
    } else if (action < 88) {
      KernelHook(cpu, thread, kTracepoint, /*exit=*/false);
    } else if (action < 90 && thread.open.empty()) {
      Fork(cpu, thread);
    } else if (action < 91) {
      Exec(cpu);
    } else if (action < 93) {
      trace_->Comm(now_ns_, cpu, task, Pick(2) == 0 ? "one" : "two");
    } else if (action < 94) {
      trace_->State(now_ns_, cpu, task, "sim",
                    Pick(3) == 0 ? std::uint32_t{logformat::kStateMarked} : 0);
    } else if (action < 96) {
      trace_->Exit(now_ns_, cpu, task);
      thread.exited = true;
      thread.open.clear();
    } else if (action < 97 && seed_ % 6 == 5) {
      trace_->Dump(now_ns_, cpu, CountersReason::kEnd,
                   static_cast<std::uint32_t>(thread.tid), Values(cpu));
      trace_->Dump(now_ns_ + 1, cpu, CountersReason::kBegin,
                   static_cast<std::uint32_t>(thread.tid), Values(cpu));
      now_ns_ += 1;
    }
  }

  const std::uint32_t seed_;
  std::mt19937 random_;
  std::unique_ptr<MemoryTrace> trace_;
  std::vector<Thread> threads_;
  std::array<int, kCpus> running_ = {-1, -1};  // index; -1: idle
  std::array<std::vector<std::uint32_t>, kCpus> interrupts_;
  std::array<std::array<std::uint64_t, 7>, kCpus> counts_{};
  std::int32_t next_tid_ = 200;
  std::uint64_t now_ns_ = 1000;
};

}  // namespace

std::unique_ptr<MemoryTrace> BusyMachine(std::uint32_t seed) {
  return BusyMachineWriter(seed).Run();
}

}  // namespace countrace::test_support
