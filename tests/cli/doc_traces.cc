// Writes the small traces that the documents' examples are made of into the
// current directory, the same bytes in each build, for docs_test.py:
//
//   web.ctf    a whole machine of two CPUs with wake-ups and system calls: a
//              reader that blocks on a writer, and a server with segments
//   sets.ctf   one CPU with two multiplexed event sets; some of one process's
//              hook records were lost, another's call began before the trace
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/support/trace_builder.h"

namespace {

using countrace::logformat::CountersReason;
using countrace::logformat::DiscardCause;
using countrace::logformat::kEventExitBit;
using countrace::logformat::kRunningTidUnknown;
using countrace::logformat::kSwitchInterruptible;
using countrace::logformat::kSwitchPreempted;
using countrace::test_support::TraceBuilder;

constexpr std::uint64_t kBeginNs = 1'000'000'000;

// A time within 6 % of `ns`. No distribution of the standard library is used:
// each library has different ones.
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : random_(seed) {}
  std::uint64_t Around(std::uint64_t ns) {
    return ns - ns / 16 + random_() % (ns / 8 + 1);
  }
  std::uint64_t Below(std::uint64_t limit) { return random_() % limit; }

 private:
  std::mt19937_64 random_;
};

// --- web.ctf ---

class Web {
 public:
  void Write() {
    trace_.session().cpus = 2;
    trace_.session().begin_ns = kBeginNs;
    trace_.SetCpuEvents({"task-clock", "page-faults"});
    wait_ = trace_.AddSegment("reader", "wait");
    handle_ = trace_.AddSegment("server", "handle");
    parse_ = trace_.AddSegment("server", "parse");
    read_ = trace_.AddKernelHook("kernel-segment", "syscall", "read");
    write_ = trace_.AddKernelHook("kernel-segment", "syscall", "write");
    for (const int cpu : {0, 1}) {
      trace_.Cpu(cpu).Counters(now_ns_, CountersReason::kBegin, 0, Values(cpu));
    }
    trace_.Cpu(0).ProcessState(now_ns_, kReader, kReader, 1, 0, "reader");
    trace_.Cpu(0).ProcessState(now_ns_, kServer, kServer, 1, 0, "server");
    trace_.Cpu(1).ProcessState(now_ns_, kWriter, kWriter, 1, 0, "writer");
    Pass(10'000);
    Switch(1, 0, kWriter);
    for (int i = 0; i < 20; ++i) Round();
    Switch(1, kWriter, 0, kSwitchPreempted);
    for (const int cpu : {0, 1}) {
      trace_.Cpu(cpu).Counters(now_ns_, CountersReason::kEnd, 0, Values(cpu));
    }
    trace_.Finish();
  }

 private:
  static constexpr std::int32_t kReader = 4711, kWriter = 4712, kServer = 4713;

  // The reader sends a request and blocks; the server works meanwhile; the
  // writer replies.
  void Round() {
    // A timer, on a CPU that is idle.
    trace_.Cpu(0).Wakeup(now_ns_, 0, kReader, 0);
    Pass(1000);
    trace_.Cpu(0).Wakeup(now_ns_, 0, kServer, 0);
    Pass(1000);
    Switch(0, 0, kReader);
    trace_.Thread(kReader, kReader).Enter(wait_, now_ns_);
    Pass(4000);
    Call(0, kReader, read_, false);
    Pass(2000);
    Switch(0, kReader, kServer);
    Serve();
    Switch(0, kServer, 0);
    Pass(2'000'000);
    Call(1, kWriter, write_, false);
    Pass(3000);
    trace_.Cpu(1).Wakeup(now_ns_, kWriter, kReader, 0);
    Pass(1500);
    Switch(0, 0, kReader);
    Pass(1000);
    Call(0, kReader, read_, true);
    Call(1, kWriter, write_, true);
    trace_.Thread(kReader, kReader).Exit(wait_, now_ns_);
    Pass(20'000);
    Switch(0, kReader, 0);
    Pass(50'000);
  }

  void Serve() {
    auto& thread = trace_.Thread(kServer, kServer);
    thread.Enter(handle_, now_ns_);
    thread.Enter(parse_, now_ns_);
    Pass(30'000);
    thread.Exit(parse_, now_ns_);
    for (std::uint64_t i = noise_.Below(8); i > 0; --i) {
      Pass(1000);
      ++faults_[0];
      trace_.Cpu(0).Fault(now_ns_, kServer, kServer, 0x1000 * i);
    }
    Pass(900'000);
    thread.Exit(handle_, now_ns_);
    now_ns_ += 10;
  }

  void Pass(std::uint64_t ns) { now_ns_ += noise_.Around(ns); }
  std::vector<std::uint64_t> Values(int cpu) {
    return {now_ns_ - kBeginNs, faults_[cpu]};
  }
  void Switch(int cpu, std::int32_t from, std::int32_t to,
              std::uint16_t state = kSwitchInterruptible) {
    trace_.Cpu(cpu).Dispatch(now_ns_, static_cast<std::uint32_t>(from),
                             static_cast<std::uint32_t>(to), state,
                             Values(cpu));
    now_ns_ += 10;
  }
  void Call(int cpu, std::int32_t tid, std::uint32_t hook, bool exit) {
    const auto id = static_cast<std::uint64_t>(tid);
    std::optional<std::int64_t> ret;
    if (exit) ret = 512;
    trace_.Cpu(cpu).KernelHook(
        now_ns_,
        static_cast<std::uint16_t>(hook * 2 + (exit ? kEventExitBit : 0)),
        id | id << 24, {}, ret);
    now_ns_ += 10;
  }

  TraceBuilder trace_{"web.ctf"};
  Noise noise_{7};
  std::uint64_t now_ns_ = kBeginNs;
  std::map<int, std::uint64_t> faults_;
  std::uint32_t wait_ = 0, handle_ = 0, parse_ = 0, read_ = 0, write_ = 0;
};

// --- sets.ctf ---

// Two programs alternate on a CPU every 3 ms or so; the event sets rotate every
// 10 ms.
class Sets {
 public:
  void Write() {
    trace_.session().cpus = 1;
    trace_.session().begin_ns = kBeginNs;
    trace_.SetCpuEvents({"task-clock", "page-faults", "cycles", "instructions",
                         "cache-misses", "branch-misses"},
                        {2, 2});
    for (Program& program : programs_) {
      program.hook = trace_.AddSegment(program.comm, program.segment);
    }
    Dump(CountersReason::kBegin);
    for (const Program& program : programs_) {
      trace_.Cpu(0).ProcessState(now_ns_, program.pid, program.pid, 1, 0,
                                 program.comm);
    }
    while (now_ns_ < kBeginNs + 400'000'000) {
      const Program& next = programs_[noise_.Below(3) == 0 ? 1 : 0];
      Switch(0, next.pid);
      Stay(next);
      Switch(static_cast<std::uint32_t>(next.pid), 0);
      Pass(300'000, nullptr);
    }
    Dump(CountersReason::kEnd);
    trace_.Finish();
  }

 private:
  struct Program {
    std::int32_t pid;
    const char *comm, *segment;
    // In 1,000 ns.
    std::uint64_t cycles, instructions, cache_misses, branch_misses;
    std::uint32_t hook = 0;
    int stays = 0;
  };

  void Stay(const Program& chosen) {
    Program& program = programs_[chosen.pid == 100 ? 0 : 1];
    auto& thread = trace_.Thread(program.pid, program.pid);
    ++program.stays;
    for (int i = 0; i < 4; ++i) {
      // The first call of `scan` began before the trace.
      if (program.stays > 1 || i > 0 || program.pid == 100) {
        thread.Enter(program.hook, now_ns_);
      }
      if (i == 2) {
        ++page_faults_;
        now_ns_ += 10;
        running_ns_[set_] += 10;
        trace_.Cpu(0).Fault(now_ns_, program.pid, program.pid, 0x1000);
      }
      Pass(700'000, &program);
      thread.Exit(program.hook, now_ns_);
      Pass(20'000, &program);
    }
    // No sub-buffer was ready.
    if (program.pid == 100 && program.stays == 20) {
      thread.writer().CountDiscarded(DiscardCause::kNoSubBuffer, 6);
    }
  }

  void Pass(std::uint64_t ns, const Program* program) {
    const std::uint64_t passed = noise_.Around(ns);
    now_ns_ += passed;
    running_ns_[set_] += passed;
    if (program != nullptr) {
      const std::uint64_t us = passed / 1000;
      const std::uint64_t now[2][2] = {
          {us * program->cycles, us * program->instructions},
          {us * program->cache_misses, us * program->branch_misses}};
      for (int i = 0; i < 2; ++i) {
        counted_[set_][i] += noise_.Around(noise_.Around(now[set_][i]));
      }
    }
    if (now_ns_ >= turn_end_ns_) ChangeSet();
  }

  void ChangeSet() {
    Dump(CountersReason::kSetEnd);
    now_ns_ += 2000;
    set_ = noise_.Below(2) == 0 ? set_ : 1 - set_;
    Dump(CountersReason::kSetBegin);
    turn_end_ns_ = now_ns_ + 10'000'000;
  }

  std::vector<std::uint64_t> Values() {
    trace_.Cpu(0).SetEventSet(set_, 0b11111);
    return {now_ns_ - kBeginNs, page_faults_, counted_[set_][0],
            counted_[set_][1], running_ns_[set_]};
  }
  void Dump(CountersReason reason) {
    const bool turn = reason == CountersReason::kSetBegin ||
                      reason == CountersReason::kSetEnd;
    const std::vector<std::uint64_t> values = Values();
    trace_.Cpu(0).Counters(now_ns_, reason, turn ? kRunningTidUnknown : 0,
                           values);
  }
  void Switch(std::uint32_t from, std::int32_t to) {
    const std::vector<std::uint64_t> values = Values();
    trace_.Cpu(0).Dispatch(now_ns_, from, static_cast<std::uint32_t>(to),
                           kSwitchInterruptible, values);
    now_ns_ += 10;
    running_ns_[set_] += 10;
  }

  Program programs_[2] = {{100, "work", "step", 3000, 6000, 2, 10},
                          {101, "scan", "block", 3000, 900, 45, 3}};
  TraceBuilder trace_{"sets.ctf"};
  Noise noise_{11};
  std::uint64_t now_ns_ = kBeginNs, turn_end_ns_ = kBeginNs + 10'000'000;
  std::uint64_t page_faults_ = 0;
  std::uint32_t set_ = 0;
  std::uint64_t counted_[2][2] = {}, running_ns_[2] = {};
};

}  // namespace

int main() {
  Web().Write();
  Sets().Write();
}
