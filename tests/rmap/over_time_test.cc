// The books over time, compared with the report of the same trace.
#include "rmap/over_time/over_time.h"

#include <catch2/catch.hpp>
#include <random>

#include "rmap/over_time/over_time_render.h"
#include "rmap/pipeline.h"
#include "tests/rmap/simulated_machine.h"

namespace countrace::rmap {
namespace {

using test_support::Simulate;
using test_support::Simulation;
using test_support::SimulationOptions;

SimulationOptions MachineOf(std::uint32_t seed) {
  SimulationOptions options = test_support::RandomOptions(seed);
  options.steps = 150 + seed % 500;
  options.instants = true;
  return options;
}

Report MustReconstruct(logformat::TraceReader& reader,
                       TimelineObserver* observer = nullptr) {
  PipelineOptions options;
  options.observer = observer;
  auto report = Reconstruct(reader, options);
  REQUIRE(report.ok());
  return *std::move(report);
}

TimeSeries SeriesOf(logformat::TraceReader& reader, OverTimeOptions options) {
  OverTime over_time(reader.info(), std::move(options));
  const Report report = MustReconstruct(reader, &over_time);
  auto series = over_time.Finish(report);
  INFO(series.status());
  REQUIRE(series.ok());
  return *std::move(series);
}

std::uint64_t SumOfTime(const TimeSeries& series, Account account) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < series.size(); ++i)
    sum += series.Time(i, account);
  return sum;
}
std::uint64_t SumOfCounts(const TimeSeries& series, Account account,
                          std::size_t event) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < series.size(); ++i) {
    sum += series.Count(i, account, event);
  }
  return sum;
}

void CheckSums(const TimeSeries& series, const Report& report) {
  CpuRow sum;
  for (const CpuRow& row : report.cpu_rows) {
    sum.busy_ns += row.busy_ns;
    sum.idle_ns += row.idle_ns;
    sum.interrupts_ns += row.interrupts_ns;
    sum.outside_ns += row.outside_ns;
    sum.unattributed_ns += row.unattributed_ns;
  }
  CHECK(SumOfTime(series, Account::kProcesses) == sum.busy_ns);
  CHECK(SumOfTime(series, Account::kIdle) == sum.idle_ns);
  CHECK(SumOfTime(series, Account::kInterrupts) == sum.interrupts_ns);
  CHECK(SumOfTime(series, Account::kOutside) == sum.outside_ns);
  CHECK(SumOfTime(series, Account::kUnattributed) == sum.unattributed_ns);
  for (std::size_t event = 0; event < report.books.size(); ++event) {
    CAPTURE(event);
    const Books& books = report.books[event];
    CHECK(SumOfCounts(series, Account::kProcesses, event) == books.processes);
    CHECK(SumOfCounts(series, Account::kIdle, event) == books.idle);
    CHECK(SumOfCounts(series, Account::kInterrupts, event) == books.interrupts);
    CHECK(SumOfCounts(series, Account::kOutside, event) == books.outside);
    CHECK(SumOfCounts(series, Account::kUnattributed, event) ==
          books.unattributed);
  }
}

std::uint64_t RandomEvery(std::mt19937_64& random, std::uint64_t duration_ns) {
  const std::uint64_t every_ns = duration_ns / (1 + random() % 200);
  return random() % 8 == 0 ? duration_ns + random() % 100
                           : std::max<std::uint64_t>(every_ns, 1);
}

}  // namespace

TEST_CASE("over_time: sums over intervals are the report, records lost or not",
          "[rmap][property]") {
  const auto seed = static_cast<std::uint32_t>(GENERATE(range(0, 300)));
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  Simulation run = Simulate(MachineOf(seed));
  if (seed % 3 == 0) {
    run.trace->Remove([&](std::size_t) { return random() % 25 == 0; },
                      seed % 2 == 0);
  }
  const Report report = MustReconstruct(*run.trace);
  OverTimeOptions options;
  options.every_ns = RandomEvery(random, run.truth.duration_ns);
  CAPTURE(options.every_ns);
  // A single process: compare with its row.
  const ProcessRow& process =
      report.processes[random() % report.processes.size()];
  options.threads.emplace();
  for (const ThreadRow& row : report.threads) {
    if (row.process == process.index) {
      options.threads->insert(static_cast<std::uint32_t>(row.index));
    }
  }
  const TimeSeries series = SeriesOf(*run.trace, options);
  CheckSums(series, report);
  std::uint64_t on_cpu_ns = 0;
  std::vector<std::uint64_t> counts(series.events.size(), 0);
  for (std::size_t i = 0; i < series.size(); ++i) {
    on_cpu_ns += series.SelectedTime(i);
    for (std::size_t event = 0; event < counts.size(); ++event) {
      counts[event] += series.SelectedCount(i, event);
      CHECK(series.SelectedCount(i, event) <=
            series.Count(i, Account::kProcesses, event));
    }
    // At most the time that there is.
    CHECK(series.TotalTime(i) <=
          report.cpus * (series.EndOf(i) - series.BeginOf(i)));
  }
  CHECK(on_cpu_ns == process.on_cpu_ns.value_or(0));
  for (std::size_t event = 0; event < counts.size(); ++event) {
    CHECK(counts[event] == process.counts[event].value_or(0));
  }
}

TEST_CASE("over_time: each interval is the simulated machine's",
          "[rmap][property]") {
  const auto seed = static_cast<std::uint32_t>(GENERATE(range(0, 100)));
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  Simulation run = Simulate(MachineOf(seed));
  OverTimeOptions options;
  options.every_ns = RandomEvery(random, run.truth.duration_ns);
  const TimeSeries series = SeriesOf(*run.trace, options);
  // Time by brute force, from the machine's state at each instant.
  std::vector<std::vector<std::uint64_t>> truth(
      series.size(), std::vector<std::uint64_t>(kAccounts, 0));
  for (const auto& instant : run.truth.instants) {
    for (const auto& cpu : instant.cpus) {
      const Account account = !cpu.interrupts.empty() ? Account::kInterrupts
                              : cpu.outside           ? Account::kOutside
                              : cpu.tid == 0          ? Account::kIdle
                                                      : Account::kProcesses;
      for (std::uint64_t ns = instant.begin_ns; ns < instant.end_ns; ++ns) {
        ++truth.at((ns - series.begin_ns) /
                   series.every_ns)[static_cast<std::size_t>(account)];
      }
    }
  }
  for (std::size_t i = 0; i < series.size(); ++i) {
    CAPTURE(i);
    for (std::size_t account = 0; account < kAccounts; ++account) {
      CHECK(series.Time(i, static_cast<Account>(account)) == truth[i][account]);
    }
    // Clocks count time: all of it, and nothing is inferred unless an interrupt
    // cuts a dispatch.
    CHECK(series.TotalCount(i, 0) <= run.truth.duration_ns * series.cpus);
    if (!MachineOf(seed).interrupts) {
      CHECK(series.TotalCount(i, 0) == series.TotalTime(i));
      CHECK(series.QualityOf(i, 0) == Quality::kExact);
    }
  }
}

TEST_CASE("over_time: faults and switches are where their records are",
          "[rmap][property]") {
  const auto seed = static_cast<std::uint32_t>(GENERATE(range(0, 200)));
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const SimulationOptions machine = MachineOf(seed);
  Simulation run = Simulate(machine);
  OverTimeOptions options;
  options.every_ns = RandomEvery(random, run.truth.duration_ns);
  const TimeSeries series = SeriesOf(*run.trace, options);
  constexpr std::size_t kFaults = 2, kSwitches = 3;
  // What the machine had counted before an instant.
  const auto before = [&](std::uint64_t time_ns, std::size_t event) {
    std::uint64_t count = 0;
    for (const auto& instant : run.truth.instants) {
      if (instant.begin_ns >= time_ns) break;
      count = instant.total[event];
    }
    return count;
  };
  for (std::size_t i = 0; i < series.size(); ++i) {
    CAPTURE(i);
    for (const std::size_t event : {kFaults, kSwitches}) {
      CAPTURE(event);
      // A command's trace has no records of the other processes.
      if (!machine.command_scope) {
        CHECK(series.QualityOf(i, event) == Quality::kExact);
      }
      if (series.QualityOf(i, event) != Quality::kExact) continue;
      CHECK(series.TotalCount(i, event) ==
            before(series.EndOf(i), event) - before(series.BeginOf(i), event));
    }
  }
}

TEST_CASE("over_time: the intervals of a range are those of the trace",
          "[rmap][property]") {
  const auto seed = static_cast<std::uint32_t>(GENERATE(range(0, 300)));
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  Simulation run = Simulate(MachineOf(seed));
  if (seed % 3 == 0) {
    run.trace->Remove([&](std::size_t) { return random() % 25 == 0; },
                      seed % 2 == 0);
  }
  OverTimeOptions options;
  options.every_ns = RandomEvery(random, run.truth.duration_ns);
  options.hooks = SegmentsNamed(run.trace->info(), "*");
  const TimeSeries whole = SeriesOf(*run.trace, options);
  const std::size_t first = random() % whole.size();
  const std::size_t size = 1 + random() % (whole.size() - first);
  options.begin_ns = whole.BeginOf(first);
  options.of_range = first != 0;
  if (first + size != whole.size() || random() % 2 == 0) {
    options.until_ns = whole.EndOf(first + size - 1);
  }
  const TimeSeries part = SeriesOf(*run.trace, options);
  CHECK(part.begin_ns == whole.BeginOf(first));
  CHECK(part.end_ns == whole.EndOf(first + size - 1));
  if (part.end_ns == part.begin_ns) return;
  REQUIRE(part.size() == size);
  for (std::size_t i = 0; i < size; ++i) {
    CAPTURE(first, i);
    for (std::size_t account = 0; account < kAccounts; ++account) {
      const auto each = static_cast<Account>(account);
      CHECK(part.Time(i, each) == whole.Time(first + i, each));
      for (std::size_t event = 0; event < part.events.size(); ++event) {
        CHECK(part.Count(i, each, event) ==
              whole.Count(first + i, each, event));
        CHECK(part.QualityOf(i, event) == whole.QualityOf(first + i, event));
      }
    }
    CHECK(part.Calls(i).calls == whole.Calls(first + i).calls);
    CHECK(part.Calls(i).wall_ns == whole.Calls(first + i).wall_ns);
    CHECK(part.Calls(i).on_cpu_ns == whole.Calls(first + i).on_cpu_ns);
  }
}

TEST_CASE("over_time: a segment's calls and times add up to its rows",
          "[rmap][property]") {
  const auto seed = static_cast<std::uint32_t>(GENERATE(range(0, 200)));
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  Simulation run = Simulate(MachineOf(seed));
  const Report report = MustReconstruct(*run.trace);
  auto hooks = run.trace->info().hooks;
  std::erase_if(hooks, [](const logformat::HookInfo& hook) {
    return hook.kind != logformat::HookKind::kSegment;
  });
  // Interrupts come last; leave them out.
  const auto& hook = hooks[random() % (MachineOf(seed).system_calls ? 6 : 4)];
  CAPTURE(hook.FullName());
  OverTimeOptions options;
  options.every_ns = RandomEvery(random, run.truth.duration_ns);
  options.hooks = SegmentsNamed(run.trace->info(), hook.FullName());
  REQUIRE(options.hooks->size() == 1);
  const TimeSeries series = SeriesOf(*run.trace, options);
  IntervalCalls sum, expected;
  for (std::size_t i = 0; i < series.size(); ++i) {
    sum.calls += series.Calls(i).calls;
    sum.wall_ns += series.Calls(i).wall_ns;
    sum.on_cpu_ns += series.Calls(i).on_cpu_ns;
    CHECK(series.Calls(i).on_cpu_ns <= series.Calls(i).wall_ns);
    CHECK(series.Calls(i).on_cpu_ns <= series.Time(i, Account::kProcesses));
  }
  for (const SegmentRow& row : report.segments) {
    if (row.segment != hook.FullName()) continue;
    expected.calls += row.calls;
    expected.wall_ns += row.wall.incl;
    expected.on_cpu_ns += row.on_cpu.value().incl;
  }
  CHECK(sum.calls == expected.calls);
  CHECK(sum.wall_ns == expected.wall_ns);
  CHECK(sum.on_cpu_ns == expected.on_cpu_ns);
}

TEST_CASE("over_time: more intervals than the limit are refused with a remedy",
          "[rmap]") {
  SimulationOptions options = MachineOf(1);
  options.steps = 20'000;
  options.instants = false;
  Simulation run = Simulate(options);
  REQUIRE(run.truth.duration_ns > kMaxIntervals);
  const auto finish = [&](std::uint64_t every_ns) {
    OverTimeOptions over;
    over.every_ns = every_ns;
    OverTime over_time(run.trace->info(), over);
    const Report report = MustReconstruct(*run.trace, &over_time);
    return over_time.Finish(report);
  };
  const auto refused = finish(1);
  REQUIRE(absl::IsOutOfRange(refused.status()));
  const std::uint64_t shortest_ns =
      (run.truth.duration_ns + kMaxIntervals - 1) / kMaxIntervals;
  const std::string message(refused.status().message());
  CAPTURE(message);
  CHECK(message.find("100000") != std::string::npos);
  CHECK(message.find("--every " + std::to_string(shortest_ns) + "ns") !=
        std::string::npos);
  const auto accepted = finish(shortest_ns);
  REQUIRE(accepted.ok());
  CHECK(accepted->size() <= kMaxIntervals);
  CHECK_FALSE(finish(shortest_ns - 1).ok());
}

TEST_CASE("over_time: CSV quotes a name with a quote, a comma and a newline",
          "[rmap]") {
  TimeSeries series;
  series.events = {"a\"b,\nc"};
  const std::string name = "\"a\"\"b,\\x0ac";
  CHECK(RenderOverTime(series, {.format = ReportFormat::kCsv}) ==
        "begin_ns,end_ns,offset_s," + name + "\"," + name + ".quality\"\n");
  const std::vector<Feature> features = {
      {.name = series.events[0], .share = true, .values = {}}};
  CHECK(RenderPhases(series, features, {}, {.format = ReportFormat::kCsv}) ==
        "begin_ns,end_ns,intervals," + name + "\"\n");
}

}  // namespace countrace::rmap
