// 13 of 3.5 million records are lost: no number is without a limit, rows of
// many calls are known to 1 %, and the truth is inside.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "rmap/pipeline.h"
#include "tests/rmap/memory_trace.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using logformat::CountersReason;
using logformat::HookKind;
using logformat::HookOrigin;
using test_support::MemoryTrace;
using test_support::PropertyRuns;

constexpr std::uint32_t kRead = 12288, kFutex = 12289, kTimer = 12290;
constexpr int kThreadsOnCpu = 4;
constexpr std::int32_t kCpus = 2, kFirstPid = 100, kFirstTid = 1000;
constexpr std::uint64_t kLost = 13, kManyCalls = 10'000;

struct Durations {
  std::vector<std::uint64_t> sorted;
  std::uint64_t sum = 0;
  void Sort() { std::sort(sorted.begin(), sorted.end()); }
  void Add(std::uint64_t ns) {
    sorted.push_back(ns);
    sum += ns;
  }
};

// Each CPU goes round its threads: one comes back from read(), calls futex(),
// is interrupted, and reads again, until its next round.
class Machine {
 public:
  explicit Machine(std::uint32_t seed) : random_(seed) {
    logformat::TraceInfo& info = trace_.mutable_info();
    info.cpus = kCpus;
    info.begin_ns = kBegin;
    info.scope = logformat::SessionScope::kSystem;
    info.cpu_events = {"task-clock"};
    const auto add = [this](std::uint32_t id, const char* provider,
                            const char* name, HookOrigin origin) {
      trace_.AddHook(id, HookKind::kSegment, provider, name, origin);
    };
    add(kRead, "syscall", "read", HookOrigin::kKernel);
    add(kFutex, "syscall", "futex", HookOrigin::kKernel);
    add(kTimer, "irq", "timer", HookOrigin::kInterrupt);
  }

  void Run() {
    for (std::int32_t cpu = 0; cpu < kCpus; ++cpu) {
      trace_.Dump(kBegin, cpu, CountersReason::kBegin, 0, {0});
      for (int i = 0; i < kThreadsOnCpu; ++i) {
        trace_.State(kBegin, cpu, {Pid(cpu, i), Tid(cpu, i)}, "server");
      }
    }
    const int rounds = PropertyRuns(55'000);
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < kThreadsOnCpu; ++i) {
        for (std::int32_t cpu = 0; cpu < kCpus; ++cpu) Turn(cpu, i);
      }
    }
    for (std::int32_t cpu = 0; cpu < kCpus; ++cpu) {
      trace_.Dump(At(cpu), cpu, CountersReason::kEnd, running_[cpu],
                  {at_ns_[cpu] - kBegin});
    }
    const std::uint64_t end_ns = *std::max_element(at_ns_, at_ns_ + kCpus);
    for (std::int32_t cpu = 0; cpu < kCpus; ++cpu) {
      for (int i = 0; i < kThreadsOnCpu; ++i) {
        const auto tid = static_cast<std::uint32_t>(Tid(cpu, i));
        truth_[{Pid(cpu, i), "syscall:read"}].Add(end_ns - reading_ns_[tid]);
      }
    }
    for (auto& [key, durations] : truth_) durations.Sort();
  }

  // Loses kLost records, evenly.
  void Lose() {
    const std::size_t every = trace_.size() / (kLost + 1);
    std::uint64_t lost = 0;
    auto lose = [&](std::size_t i, bool, std::uint32_t) {
      if (i < (lost + 1) * every || lost == kLost) return false;
      ++lost;
      return true;
    };
    REQUIRE(trace_.RemoveOf(lose) == kLost);
  }

  const MemoryTrace& trace() const { return trace_; }
  MemoryTrace& trace() { return trace_; }
  const Durations& Truth(std::int32_t pid, const std::string& segment) const {
    return truth_.at({pid, segment});
  }

 private:
  static constexpr std::uint64_t kBegin = 1000;

  // Two processes, with threads on both CPUs.
  static std::int32_t Pid(std::int32_t, int i) { return kFirstPid + i % 2; }
  static std::int32_t Tid(std::int32_t cpu, int i) {
    return kFirstTid + cpu * kThreadsOnCpu + i;
  }
  std::uint64_t At(std::int32_t cpu) {
    return at_ns_[cpu] += 100 + random_() % 5000;
  }
  std::uint64_t Hook(std::int32_t cpu, int i, std::uint32_t hook, bool exit) {
    const std::uint64_t now = At(cpu);
    trace_.KernelHook(now, cpu, {Pid(cpu, i), Tid(cpu, i), hook, exit});
    return now;
  }

  void Turn(std::int32_t cpu, int i) {
    const auto tid = static_cast<std::uint32_t>(Tid(cpu, i));
    std::uint64_t& reading = reading_ns_[tid];
    if (reading != 0) trace_.Wakeup(At(cpu), cpu, running_[cpu], tid);
    const std::uint64_t now = At(cpu);
    trace_.Dispatch(now, cpu, running_[cpu], tid,
                    logformat::kSwitchInterruptible, {now - kBegin});
    running_[cpu] = tid;
    if (reading != 0) {
      truth_[{Pid(cpu, i), "syscall:read"}].Add(
          Hook(cpu, i, kRead, /*exit=*/true) - reading);
    }
    const std::uint64_t futex = Hook(cpu, i, kFutex, /*exit=*/false);
    truth_[{Pid(cpu, i), "syscall:futex"}].Add(
        Hook(cpu, i, kFutex, /*exit=*/true) - futex);
    Hook(cpu, i, kTimer, /*exit=*/false);
    Hook(cpu, i, kTimer, /*exit=*/true);
    reading = Hook(cpu, i, kRead, /*exit=*/false);
  }

  std::mt19937 random_;
  MemoryTrace trace_;
  std::uint64_t at_ns_[kCpus] = {kBegin, kBegin};
  std::uint32_t running_[kCpus] = {};
  std::map<std::uint32_t, std::uint64_t> reading_ns_;
  std::map<std::pair<std::int32_t, std::string>, Durations> truth_;
};

template <typename Rows>
void CheckFinite(const Report& report, const Rows& rows, std::size_t& numbers) {
  for (const auto& row : rows) {
    for (const auto& [number, limits] : row.bounds.entries()) {
      ++numbers;
      CAPTURE(NumberName(report.events, number));
      CHECK(limits.hi != Bounds::kNone);
    }
  }
}

// `limits` hold `truth`, and are at most 1 % apart.
void CheckNarrow(const Bounds& limits, std::uint64_t truth) {
  CAPTURE(limits.lo, truth, limits.hi);
  CHECK(limits.lo <= truth);
  CHECK(truth <= limits.hi);
  CHECK((limits.hi - limits.lo) * 100 <= limits.hi);
}

void CheckRow(const Report& report, const SegmentRow& row,
              const Durations& truth) {
  CAPTURE(row.segment, row.pid, row.calls);
  const auto narrow = [&](Number number, std::uint64_t shown,
                          std::uint64_t value) {
    CAPTURE(NumberName(report.events, number), shown);
    CheckNarrow(row.bounds.Of(number).value_or(Bounds{shown, shown}), value);
  };
  narrow(Number::kCalls, row.calls, truth.sorted.size());
  narrow(Number::kWallIncl, row.wall.incl, truth.sum);
  // Each lost record moves the median by a rank; durations are kept to 0.8 %.
  const std::optional<Bounds> p50 = row.bounds.Of(Number::kWallP50);
  REQUIRE(p50);
  const std::size_t rank = truth.sorted.size() / 2;
  const auto at = [&](std::size_t i) {
    return static_cast<double>(truth.sorted[i]);
  };
  CAPTURE(p50->lo, row.wall.p50, p50->hi);
  CHECK(static_cast<double>(p50->lo) >= at(rank - 3 * kLost) * 0.984);
  CHECK(static_cast<double>(p50->hi) <= at(rank + 3 * kLost) * 1.016);
}

TEST_CASE("loss: 13 of 3.5 million records leave limits finite and narrow",
          "[rmap][loss]") {
  Machine machine(/*seed=*/0);
  machine.Run();
  machine.Lose();
  const auto report = Reconstruct(machine.trace(), {});
  REQUIRE(report.ok());
  REQUIRE(report->loss.discarded_events == kLost);
  std::size_t numbers = 0, rows = 0;
  CheckFinite(*report, report->processes, numbers);
  CheckFinite(*report, report->threads, numbers);
  CheckFinite(*report, report->segments, numbers);
  CheckFinite(*report, report->segment_paths, numbers);
  CheckFinite(*report, report->wakers, numbers);
  CheckFinite(*report, report->preemptors, numbers);
  CheckFinite(*report, report->cpu_rows, numbers);
  CHECK(numbers > 100);
  if (test_support::kSanitized) return;  // it is a tenth as long
  for (const SegmentRow& row : report->segments) {
    if (row.calls < kManyCalls || row.pid < kFirstPid) continue;
    CheckRow(*report, row, machine.Truth(row.pid, row.segment));
    ++rows;
  }
  CHECK(rows == 4);  // two system calls of two processes
}

}  // namespace
}  // namespace countrace::rmap
