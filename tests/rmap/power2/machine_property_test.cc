// rmap's report of a real trace of a simulated POWER2 machine is the truth,
// exactly.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "examples/power2/machine.h"
#include "logformat/read/trace_reader.h"
#include "logformat/repair/trace_verify.h"
#include "rmap/pipeline.h"
#include "tests/support/trace_builder.h"

namespace countrace::rmap {
namespace {

using ::power2::kCounters;
using ::power2::MachineOptions;
using ::power2::RandomOptions;
using ::power2::Simulate;
using ::power2::Sums;
using ::power2::TrueProcess;
using ::power2::Truth;
using test_support::TempDirectory;

struct Run {
  Truth truth;
  Report report;
};

Run RunMachine(const MachineOptions& options) {
  TempDirectory temp(TempDirectory::Place::kMemory);
  Run run;
  run.truth = Simulate(options, temp / "trace");
  auto reader = logformat::TraceReader::Open(temp / "trace");
  INFO(reader.status().ToString());
  REQUIRE(reader.ok());
  auto report = Reconstruct(**reader, {});
  REQUIRE(report.ok());
  run.report = *std::move(report);
  return run;
}

const ProcessRow* RowOf(const Report& report, std::int32_t pid) {
  for (const ProcessRow& row : report.processes) {
    if (row.pid == pid) return &row;
  }
  return nullptr;
}
const SegmentRow* SegmentOf(const Report& report, std::int32_t pid,
                            const std::string& name) {
  for (const SegmentRow& row : report.segments) {
    if (row.pid == pid && row.segment == name) return &row;
  }
  return nullptr;
}

Sums Sum(const Sums& a, const Sums& b) {
  Sums sum = a;
  sum.resize(b.size());
  for (std::size_t i = 0; i < b.size(); ++i) sum[i] += b[i];
  return sum;
}
Sums CountsOf(const Counts& counts) {
  REQUIRE(counts.size() == kCounters);
  Sums sums;
  for (const auto& count : counts) sums.push_back(count.value());
  return sums;
}
// Exclusive counts of a segment with counts from kernel dumps.
Sums CountsOf(const SegmentRow& row) {
  Sums sums;
  for (const auto& count : row.counts) {
    CHECK(count.value().quality == Quality::kExact);
    sums.push_back(count.value().excl);
  }
  return sums;
}

void CheckBooks(const Run& run) {
  const Truth& truth = run.truth;
  Sums processes;
  for (const TrueProcess& process : truth.processes) {
    processes = Sum(processes, process.counts);
  }
  REQUIRE(run.report.books.size() == truth.events.size());
  for (std::size_t i = 0; i < truth.events.size(); ++i) {
    CAPTURE(run.report.events[i].name);
    const Books& books = run.report.books[i];
    CHECK(books.total == truth.total[i]);
    CHECK(books.processes == processes[i]);
    CHECK(books.idle == truth.idle[i]);
    CHECK(books.interrupts == truth.clock[i] + truth.dispatcher[i]);
    CHECK(books.unattributed == 0);
    CHECK(books.residual == 0);
    CHECK_FALSE(books.doubt.any());
  }
  std::uint64_t idle_ns = 0, interrupts_ns = 0;
  for (const CpuRow& row : run.report.cpu_rows) {
    CHECK(row.wall_ns == truth.duration_ns);
    idle_ns += row.idle_ns;
    interrupts_ns += row.interrupts_ns;
  }
  CHECK(idle_ns == truth.idle_ns);
  CHECK(interrupts_ns == truth.clock_ns + truth.dispatcher_ns);
}

// Expects no message, except that a process did not dump its own counters for
// more than 65 s.
void CheckMessages(const Run& run, const MachineOptions& options) {
  for (const std::string& message : run.report.loss.messages) {
    CAPTURE(message);
    CHECK(options.long_steps);
    CHECK(options.private_counters);
    CHECK(message.find("65.0753 s") != std::string::npos);
    CHECK(message.find("on tid ") != std::string::npos);
  }
}

struct Compared {
  std::size_t processes = 0, svc = 0, segments = 0, interrupts = 0;
};

void CheckProcesses(const Run& run, const MachineOptions& options,
                    Compared& compared) {
  for (const TrueProcess& truth : run.truth.processes) {
    if (truth.dispatches == 0) continue;
    CAPTURE(truth.pid);
    const ProcessRow* row = RowOf(run.report, truth.pid);
    REQUIRE(row != nullptr);
    CHECK(row->quality == Quality::kExact);
    CHECK(row->on_cpu_ns == truth.on_cpu_ns);
    CHECK(row->dispatches == truth.dispatches);
    CHECK(CountsOf(row->counts) == truth.counts);
    ++compared.processes;
    const SegmentRow* svc = SegmentOf(run.report, truth.pid, "syscall:svc");
    if (svc != nullptr) CHECK(svc->calls == truth.svc_calls);
    // Counts from the process's own dumps are in app:phase only.
    if (svc != nullptr && svc->end_inferred == 0 && !truth.exited &&
        !options.private_counters) {
      CHECK(CountsOf(*svc) == truth.in_svc);
      ++compared.svc;
    }
    const SegmentRow* segment = SegmentOf(run.report, truth.pid, "app:phase");
    if (segment == nullptr || segment->end_inferred != 0 ||
        options.long_steps) {
      continue;
    }
    CHECK(segment->calls == truth.segment_calls);
    for (std::size_t i = 0; i < logformat::kMaxCounters; ++i) {
      REQUIRE(segment->counts[i]);
      // Supervisor calls in it have dumps of the CPU, not of the process: the
      // exclusive count has bounds only, and the row says so.
      CHECK(segment->counts[i]->incl == truth.in_phase[i]);
    }
    ++compared.segments;
  }
}

void CheckInterrupts(const Run& run, Compared& compared) {
  const SegmentRow* clock = SegmentOf(run.report, 0, "irq:clock");
  const SegmentRow* dispatcher = SegmentOf(run.report, 0, "power2:dispatcher");
  if (clock == nullptr || dispatcher == nullptr) return;
  CHECK(CountsOf(*clock) == run.truth.clock);
  CHECK(CountsOf(*dispatcher) == run.truth.dispatcher);
  ++compared.interrupts;
}

TEST_CASE("power2: 22 counters of 32 bits under every setting of table 1",
          "[power2][property]") {
  constexpr std::uint32_t kRuns = 3000;
  Compared compared;
  std::uint64_t wraps = 0;
  std::size_t machines = 0;
  for (std::uint32_t seed = 0; seed < kRuns; ++seed) {
    CAPTURE(seed);
    const MachineOptions options = RandomOptions(seed);
    if (options.private_modes) continue;
    const Run run = RunMachine(options);
    CheckMessages(run, options);
    CheckBooks(run);
    CheckProcesses(run, options, compared);
    if (!options.private_counters) CheckInterrupts(run, compared);
    wraps += run.truth.wraps;
    ++machines;
  }
  std::printf(
      "%zu machines: %zu processes, %zu of supervisor calls, %zu of segments, "
      "%zu of interrupts equal their truth; %llu wraps\n",
      machines, compared.processes, compared.svc, compared.segments,
      compared.interrupts, static_cast<unsigned long long>(wraps));
  CHECK(machines > 2000);
  CHECK(compared.processes > 5000);
  CHECK(compared.svc > 500);
  CHECK(compared.segments > 500);
  CHECK(compared.interrupts > 500);
  CHECK(wraps > 1000);
}

TEST_CASE("power2: each process operates the monitor by itself",
          "[power2][property]") {
  std::size_t rows = 0, machines = 0;
  for (std::uint32_t seed = 0; seed < 800; ++seed) {
    CAPTURE(seed);
    MachineOptions options = RandomOptions(seed);
    options.private_modes = true;
    options.private_counters = options.sga = false;
    const Run run = RunMachine(options);
    CheckMessages(run, options);
    CheckBooks(run);
    ++machines;
    for (const TrueProcess& truth : run.truth.processes) {
      if (truth.dispatches == 0) continue;
      CAPTURE(truth.pid, truth.mode);
      const ProcessRow* row = RowOf(run.report, truth.pid);
      REQUIRE(row != nullptr);
      CHECK(row->on_cpu_ns == truth.on_cpu_ns);
      // 17 counters that are the same in all modes, then 5 of each mode.
      REQUIRE(run.report.events.size() == 17 + 4 * 5);
      for (std::size_t i = 0; i < run.report.events.size(); ++i) {
        CAPTURE(run.report.events[i].name);
        const bool own = i < 17 || (i - 17) / 5 == truth.mode;
        if (!own) {
          // Never counted in its mode: absent, not 0.
          CHECK_FALSE(row->counts[i].has_value());
          continue;
        }
        if (truth.on_cpu_ns == 0) continue;  // stopped in the dispatcher
        REQUIRE(row->counts[i]);
        CHECK(*row->counts[i] == truth.counts[i]);
        if (row->scaled[i]) {
          CHECK(row->scaled[i]->counted == truth.counts[i]);
          CHECK(row->scaled[i]->running == truth.on_cpu_ns);
        }
      }
      ++rows;
    }
  }
  std::printf("%zu machines with private modes: %zu processes exact\n",
              machines, rows);
  CHECK(rows > 2000);
}

TEST_CASE("power2: the four mixed rows of table 1 add up to the first",
          "[power2][property]") {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    MachineOptions options = RandomOptions(seed * 32);
    options.private_modes = options.private_counters = false;
    std::map<std::int32_t, Sums> parts;
    Sums total(kCounters);
    for (const std::uint32_t bits : {0b00101u, 0b00110u, 0b01001u, 0b01010u}) {
      options.monitor_bits = bits;
      const Run run = RunMachine(options);
      for (const ProcessRow& row : run.report.processes) {
        parts[row.pid] = Sum(parts[row.pid], CountsOf(row.counts));
      }
      for (std::size_t i = 0; i < kCounters; ++i) {
        total[i] += run.report.books[i].total;
      }
    }
    options.monitor_bits = 0;
    const Run all = RunMachine(options);
    REQUIRE(all.report.processes.size() == parts.size());
    for (const ProcessRow& row : all.report.processes) {
      CHECK(parts[row.pid] == CountsOf(row.counts));
    }
    CHECK(total == all.truth.total);
  }
}

TEST_CASE("power2: the traces are sound, for babeltrace2 as well", "[power2]") {
  // No option; SGA; private modes.
  for (const std::uint32_t seed : {64u, 130u, 200u}) {
    CAPTURE(seed);
    TempDirectory temp(TempDirectory::Place::kMemory);
    Simulate(RandomOptions(seed), temp / "trace");
    const std::string errors = temp / "errors";
    const std::string command =
        "babeltrace2 " + (temp / "trace") + " >/dev/null 2>" + errors;
    CHECK(std::system(command.c_str()) == 0);
    std::ostringstream said;
    said << std::ifstream(errors).rdbuf();
    CHECK(said.str().empty());
    const auto verified = logformat::VerifyTrace(temp / "trace");
    REQUIRE(verified.ok());
    CHECK(verified->findings.empty());
  }
}

}  // namespace
}  // namespace countrace::rmap
