// Writes a trace of any size: threads that alternate on two CPUs, segments
// nested four deep, four counters at every hook and dispatch. For benchmarks of
// the reading side; the same arguments give the same records.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/support/trace_builder.h"

namespace {

using countrace::test_support::Dump;
using countrace::test_support::TraceBuilder;

constexpr std::uint32_t kCpus = 2;
constexpr std::uint32_t kDepth = 4;
constexpr std::int32_t kPid = 100;

struct Cpu {
  std::uint64_t now_ns = 1000;
  std::uint32_t tid = 0;
  std::vector<std::uint64_t> counters = std::vector<std::uint64_t>(4);
};

struct Thread {
  std::uint32_t open = 0;
  Dump dump{.mmcr = 0, .present = 0xf, .counters = {0, 0, 0, 0}};
};

class Machine {
 public:
  Machine(const std::string& path, std::uint32_t threads,
          std::size_t packet_bytes)
      : trace_(path), threads_(threads) {
    trace_.SetPacketBytes(packet_bytes);
    trace_.SetCpuEvents({"task-clock", "cpu-clock", "page-faults", "cycles"});
    trace_.SetThreadEvents(
        {"instructions", "cache-misses", "branches", "branch-misses"});
    for (std::uint32_t i = 0; i < kDepth; ++i) {
      hooks_.push_back(
          trace_.AddSegment("synthetic", "level-" + std::to_string(i)));
    }
  }

  // Writes `records` records, `slice` of them between two dispatches of a CPU.
  // `killed`: leaves it as if all processes were killed at the end.
  void Run(std::uint64_t records, std::uint64_t slice, bool killed) {
    for (std::uint32_t cpu = 0; cpu < kCpus; ++cpu) {
      Count(cpus_[cpu]);
      trace_.Cpu(static_cast<std::int32_t>(cpu))
          .Counters(cpus_[cpu].now_ns,
                    countrace::logformat::CountersReason::kBegin, 0,
                    cpus_[cpu].counters);
    }
    std::uint64_t written = kCpus;
    std::uint32_t next = 0;
    while (written + kCpus < records) {
      for (std::uint32_t cpu = 0; cpu < kCpus; ++cpu) {
        written += Stay(cpu, next, slice);
        next = (next + 1) % static_cast<std::uint32_t>(threads_.size());
      }
      // No thread is on both CPUs at once.
      cpus_[0].now_ns = cpus_[1].now_ns =
          std::max(cpus_[0].now_ns, cpus_[1].now_ns);
    }
    for (std::uint32_t cpu = 0; cpu < kCpus; ++cpu) {
      Count(cpus_[cpu]);
      trace_.Cpu(static_cast<std::int32_t>(cpu))
          .Counters(cpus_[cpu].now_ns,
                    countrace::logformat::CountersReason::kEnd, cpus_[cpu].tid,
                    cpus_[cpu].counters);
    }
    if (killed) {
      trace_.Abandon();
    } else {
      trace_.Finish();
    }
  }

 private:
  std::uint64_t Random() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return state_ >> 33;
  }

  void Count(Cpu& cpu) {
    cpu.counters[0] = cpu.counters[1] = cpu.now_ns;
    cpu.counters[2] += Random() & 3;
    cpu.counters[3] = 3 * cpu.now_ns;
  }

  std::uint64_t Stay(std::uint32_t number, std::uint32_t index,
                     std::uint64_t slice) {
    Cpu& cpu = cpus_[number];
    Thread& thread = threads_[index];
    const std::uint32_t tid = static_cast<std::uint32_t>(kPid) + index;
    cpu.now_ns += 1000;
    Count(cpu);
    trace_.Cpu(static_cast<std::int32_t>(number))
        .Dispatch(cpu.now_ns, cpu.tid, tid,
                  countrace::logformat::kSwitchPreempted, cpu.counters);
    cpu.tid = tid;
    auto& stream = trace_.Thread(kPid, static_cast<std::int32_t>(tid));
    for (std::uint64_t i = 0; i < slice; ++i) {
      const std::uint64_t random = Random();
      cpu.now_ns += 40 + (random & 31);
      for (std::uint64_t& value : thread.dump.counters) value += 7;
      const bool exit =
          thread.open == kDepth || (thread.open != 0 && (random >> 8 & 1));
      if (exit) {
        stream.Exit(hooks_[--thread.open], cpu.now_ns, thread.dump);
      } else {
        stream.Enter(hooks_[thread.open++], cpu.now_ns, {}, thread.dump);
      }
    }
    return slice + 1;
  }

  TraceBuilder trace_;
  std::array<Cpu, kCpus> cpus_;
  std::vector<Thread> threads_;
  std::vector<std::uint32_t> hooks_;
  std::uint64_t state_ = 1;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5 || argc > 7) {
    fprintf(stderr,
            "usage: synthetic_trace DIRECTORY RECORDS THREADS SLICE "
            "[PACKET_BYTES [killed]]\n");
    return 2;
  }
  const auto number = [&](int i) { return strtoull(argv[i], nullptr, 10); };
  Machine(argv[1], static_cast<std::uint32_t>(number(3)),
          argc > 5 ? number(5) : 1 << 20)
      .Run(number(2), number(4), argc > 6);
  return 0;
}
