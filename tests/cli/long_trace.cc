// Writes a trace that takes some time to read: one thread on one CPU that calls
// a segment repeatedly.
//
//   long_trace DIRECTORY CALLS
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/support/trace_builder.h"

int main(int argc, char** argv) {
  using countrace::logformat::CountersReason;
  using countrace::logformat::kSwitchInterruptible;
  if (argc != 3) {
    std::fputs("usage: long_trace DIRECTORY CALLS\n", stderr);
    return 2;
  }
  const long long calls = std::atoll(argv[2]);
  countrace::test_support::TraceBuilder trace(argv[1]);
  trace.session().cpus = 1;
  trace.SetCpuEvents({"task-clock"});
  const auto hook = trace.AddSegment("long", "call");
  std::uint64_t now_ns = 1'000'000'000;
  const std::uint64_t begin_ns = now_ns;
  auto& cpu = trace.Cpu(0);
  auto& thread = trace.Thread(7, 7);
  cpu.Counters(now_ns, CountersReason::kBegin, 0, {0});
  cpu.ProcessState(now_ns, 7, 7, 1, 0, "long");
  cpu.Dispatch(now_ns, 0, 7, kSwitchInterruptible, {0});
  for (long long i = 0; i < calls; ++i) {
    thread.Enter(hook, now_ns += 10);
    thread.Exit(hook, now_ns += 40);
    if (i % 100 == 99) {
      cpu.Dispatch(now_ns += 10, 7, 0, kSwitchInterruptible,
                   {now_ns - begin_ns});
      cpu.Dispatch(now_ns += 10, 0, 7, kSwitchInterruptible,
                   {now_ns - begin_ns});
    }
  }
  cpu.Dispatch(now_ns += 10, 7, 0, kSwitchInterruptible, {now_ns - begin_ns});
  cpu.Counters(now_ns, CountersReason::kEnd, 0, {now_ns - begin_ns});
  trace.Finish();
  return 0;
}
