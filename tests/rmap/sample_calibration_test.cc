// Intervals of sampled CPU time on simulated machines whose truth is known:
// idle CPUs that give few samples, other programs, timers that are late.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "rmap/samples/sums/event_books.h"
#include "rmap/samples/sums/sampled_amount.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using test_support::PropertyRuns;

constexpr std::uint64_t kPeriod = 1'000'000;    // ns
constexpr std::uint64_t kTime = 1'000'000'000;  // of each CPU
constexpr std::uint32_t kFunctions = 3;         // of each program
constexpr std::uint32_t kProgram = 0, kOther = 1, kIdle = 2;
constexpr std::array<double, kFunctions> kShares = {0.5, 0.3, 0.2};

struct Machine {
  std::uint32_t cpus = 1;
  double program = 1, other = 0;  // parts of its time; the rest is idle
  bool other_is_counted = false;  // as with -a
  double idle_samples = 1;        // part of them that is taken
  double dispatch_ns = 5e6;       // mean
  double late = 0;                // part of the samples of programs that is not
  // What the report is of, as --from and --to have it.
  std::uint64_t from = 0, until = kTime;

  // The part of [begin, end) that is in it.
  std::uint64_t Part(std::uint64_t begin, std::uint64_t end) const {
    begin = std::max(begin, from);
    end = std::min(end, until);
    return begin < end ? end - begin : 0;
  }
};

// One recording: the samples, and the truth.
struct Recording {
  Samples samples;
  std::array<std::uint64_t, kFunctions> truth{};
};

// A function runs for some 50 us.
Recording Record(const Machine& machine, std::mt19937& random) {
  Recording out;
  Samples& samples = out.samples;
  samples.events.push_back({.name = "cpu-clock", .rate = "1000 Hz"});
  samples.of_part = machine.Part(0, kTime) != kTime;
  samples.contexts.resize(2);
  samples.contexts[kOther].process = ProcessIndex{1};
  std::array<std::array<SampleSum, kFunctions>, 2> sums{};
  std::array<SampledProcess, 2> processes{};
  processes[kOther].process = ProcessIndex{1};
  const auto chance = [&random](double part) {
    return std::uniform_real_distribution<>(0, 1)(random) < part;
  };
  const auto length = [&random](double mean_ns) {
    return 1 + static_cast<std::uint64_t>(
                   std::exponential_distribution<>(1 / mean_ns)(random));
  };
  for (std::uint32_t cpu = 0; cpu < machine.cpus; ++cpu) {
    SampleCount count{.cpu = static_cast<std::int32_t>(cpu)};
    count.counted = kTime;
    std::uint64_t next = random() % kPeriod;
    for (std::uint64_t now = 0; now < kTime;) {
      const double drawn = std::uniform_real_distribution<>(0, 1)(random);
      const std::uint32_t account = drawn < machine.program ? kProgram
                                    : drawn < machine.program + machine.other
                                        ? kOther
                                        : kIdle;
      const std::uint64_t until =
          std::min(kTime, now + length(machine.dispatch_ns));
      if (account != kIdle) {
        processes[account].on_cpu_ns += machine.Part(now, until);
      }
      while (now < until) {
        const std::uint64_t end = std::min(until, now + length(5e4));
        const double at = std::uniform_real_distribution<>(0, 1)(random);
        const std::uint32_t function =
            at < kShares[0] ? 0 : (at < kShares[0] + kShares[1] ? 1 : 2);
        if (account == kProgram) out.truth[function] += machine.Part(now, end);
        for (; next < end; next += kPeriod) {
          if (machine.Part(next, next + 1) == 0) continue;
          if (account == kIdle) {
            if (chance(machine.idle_samples)) count.outside += kPeriod;
          } else if (!chance(machine.late)) {
            SampleSum& sum = sums[account][function];
            ++sum.hits;
            sum.periods += kPeriod;
          }
        }
        now = end;
      }
    }
    samples.counts.push_back(count);
    samples.cpu_ns += machine.Part(0, kTime);
  }
  for (std::uint32_t account : {kProgram, kOther}) {
    const bool counted = account == kProgram || machine.other_is_counted;
    if (counted) samples.processes.push_back(processes[account]);
    for (std::uint32_t function = 0; function < kFunctions; ++function) {
      SampleSum& sum = sums[account][function];
      if (!counted) {
        samples.counts[0].outside += sum.periods;
        continue;
      }
      sum.context = account;
      sum.frame = account * kFunctions + function;
      const double period = kPeriod;
      sum.squared_periods = static_cast<double>(sum.hits) * period * period;
      samples.sums.push_back(sum);
    }
  }
  return out;
}

struct Coverage {
  int intervals = 0, held = 0, shares_held = 0;
  double widest = 0;  // mean half width in binomial ones, of the worst function
};

Coverage Measure(const Machine& machine) {
  std::mt19937 random(43);
  Coverage all;
  std::array<double, kFunctions> widths{};
  const int runs = PropertyRuns(400);
  for (int run = 0; run < runs; ++run) {
    const Recording recording = Record(machine, random);
    SampleTotal total = EmptyTotals(recording.samples).at(0);
    std::uint64_t on_cpu_ns = 0;
    for (const SampleSum& sum : recording.samples.sums)
      total.Add(sum, recording.samples);
    for (const SampledProcess& one : recording.samples.processes) {
      on_cpu_ns += one.on_cpu_ns;
    }
    for (std::uint32_t function = 0; function < kFunctions; ++function) {
      SampleWeight weight;
      weight.Add(recording.samples.sums[function], recording.samples);
      const SampledAmount amount = AmountOf(weight, total);
      const std::uint64_t truth = recording.truth[function];
      const double share =
          static_cast<double>(truth) / static_cast<double>(on_cpu_ns);
      ++all.intervals;
      all.held += amount.lo <= truth && truth <= amount.hi;
      all.shares_held += amount.share_lo <= share && share <= amount.share_hi;
      SampledAmount binomial;
      SetShare(amount.share * total.effective_hits(), total.effective_hits(),
               binomial);
      const double half =
          (binomial.share_hi - binomial.share_lo) / 2 * total.periods;
      widths[function] +=
          static_cast<double>(amount.hi - amount.lo) / 2 / half / runs;
    }
  }
  all.widest = *std::max_element(widths.begin(), widths.end());
  return all;
}

TEST_CASE("sample calibration: 95 of 100 intervals of a clock hold the truth") {
  // Where counted programs alternate in dispatches longer than a period, their
  // intervals hold more.
  const auto [name, machine] = GENERATE(table<const char*, Machine>({
      {"one busy CPU", {}},
      {"a second CPU is idle and gives no sample",
       {.cpus = 2, .program = 0.5, .idle_samples = 0.01}},
      {"another program has the other CPU",
       {.cpus = 2, .program = 0.5, .other = 0.5}},
      {"the program sleeps often", {.program = 0.7, .dispatch_ns = 1e5}},
      {"the whole machine, with idle time",
       {.cpus = 2,
        .program = 0.45,
        .other = 0.15,
        .other_is_counted = true,
        .idle_samples = 0.3,
        .dispatch_ns = 1e5}},
      {"the whole machine, timers are late",
       {.cpus = 2,
        .program = 0.6,
        .other = 0.4,
        .other_is_counted = true,
        .dispatch_ns = 1e5,
        .late = 0.02}},
      {"a range of a busy CPU", {.from = kTime / 4, .until = kTime / 4 * 3}},
      {"a range, a second CPU is idle and gives no sample",
       {.cpus = 2,
        .program = 0.5,
        .idle_samples = 0.01,
        .from = kTime / 10,
        .until = kTime / 10 * 6}},
      {"a range of the whole machine, timers are late",
       {.cpus = 2,
        .program = 0.45,
        .other = 0.25,
        .other_is_counted = true,
        .idle_samples = 0.3,
        .dispatch_ns = 1e5,
        .late = 0.02,
        .from = kTime / 3}},
  }));
  const Coverage found = Measure(machine);
  INFO(name << ": " << found.held << " and " << found.shares_held
            << " shares of " << found.intervals << " intervals, width "
            << found.widest);
  CHECK(found.held >= found.intervals * 93 / 100 - 2);
  CHECK(found.held <= found.intervals * 97 / 100 + 2);
  CHECK(found.shares_held >= found.intervals * 93 / 100 - 2);
  CHECK(found.shares_held <= found.intervals * 97 / 100 + 2);
  CHECK(found.widest <= 1.3);
}

TEST_CASE("sample calibration: samples that a process lacks are its own") {
  std::mt19937 random(7);
  Recording recording = Record(
      {.cpus = 2, .program = 0.5, .other = 0.5, .other_is_counted = true},
      random);
  // Half of the first program's samples were not taken.
  for (std::uint32_t function = 0; function < kFunctions; ++function) {
    SampleSum& sum = recording.samples.sums[function];
    sum.hits /= 2;
    sum.periods = sum.hits * kPeriod;
    sum.squared_periods = static_cast<double>(sum.hits) * kPeriod * kPeriod;
  }
  SampleTotal total = EmptyTotals(recording.samples).at(0);
  for (const SampleSum& sum : recording.samples.sums)
    total.Add(sum, recording.samples);
  const auto amount = [&](std::uint32_t row) {
    SampleWeight weight;
    weight.Add(recording.samples.sums[row], recording.samples);
    return AmountOf(weight, total);
  };
  const auto& [program, other] =
      std::tie(recording.samples.processes[0], recording.samples.processes[1]);
  for (std::uint32_t function = 0; function < kFunctions; ++function) {
    CHECK(amount(function).hi >= recording.truth[function]);
    CHECK(amount(function).hi <= program.on_cpu_ns);
    // The other has all of its own.
    CHECK(amount(kFunctions + function).hi < other.on_cpu_ns * 7 / 10);
  }
  CHECK(amount(0).hi > amount(0).value + program.on_cpu_ns / 3);
}

TEST_CASE("sample calibration: a function in many processes below a period") {
  constexpr std::uint32_t kProcesses = 5000;
  constexpr std::uint64_t kEach = kPeriod / 10;
  std::mt19937 random(11);
  std::array<int, kFunctions> held{};
  const int runs = PropertyRuns(200);
  for (int run = 0; run < runs; ++run) {
    Samples samples;
    samples.events.push_back({.name = "cpu-clock", .rate = "1000 Hz"});
    samples.counts.push_back({.counted = kProcesses * kEach});
    samples.cpu_ns = kProcesses * kEach;
    samples.contexts.resize(kProcesses);
    std::array<std::uint64_t, kFunctions> truth{};
    std::uint64_t now = 0, next = random() % kPeriod;
    for (std::uint32_t process = 0; process < kProcesses; ++process) {
      samples.contexts[process].process = ProcessIndex{process};
      samples.processes.push_back({ProcessIndex{process}, kEach});
      // Each has one function for all of its time.
      const double at = std::uniform_real_distribution<>(0, 1)(random);
      const std::uint32_t function =
          at < kShares[0] ? 0 : (at < kShares[0] + kShares[1] ? 1 : 2);
      truth[function] += kEach;
      now += kEach;
      if (next >= now) continue;
      next += kPeriod;
      samples.sums.push_back({.context = process,
                              .frame = function,
                              .hits = 1,
                              .periods = kPeriod,
                              .squared_periods = double{kPeriod} * kPeriod});
    }
    SampleTotal total = EmptyTotals(samples).at(0);
    std::array<SampleWeight, kFunctions> rows;
    for (const SampleSum& sum : samples.sums) {
      total.Add(sum, samples);
      rows[sum.frame].Add(sum, samples);
    }
    for (std::uint32_t function = 0; function < kFunctions; ++function) {
      const SampledAmount amount = AmountOf(rows[function], total);
      held[function] +=
          amount.lo <= truth[function] && truth[function] <= amount.hi;
    }
  }
  for (const int of : held) CHECK(of >= runs * 92 / 100);
}

}  // namespace
}  // namespace countrace::rmap
