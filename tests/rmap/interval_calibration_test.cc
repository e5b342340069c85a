// Calibration of estimates: 95 % intervals hold the truth in 93 to 97 % of the
// runs of programs whose truth is known, with the order of sets that the
// recorder draws.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "rmap/pipeline.h"
#include "tests/rmap/interval_coverage.h"
#include "tests/rmap/multiplexed_cpu.h"

namespace countrace::rmap {
namespace {

using Coverage = test_support::IntervalCoverage;
using test_support::MemoryTrace;
using test_support::MultiplexedCpu;

constexpr std::uint64_t kRotateNs = MultiplexedCpu::kRotateNs;

using Random = std::mt19937;

// The events of a program in each of `rotations` intervals.
using Program =
    std::function<std::vector<double>(std::size_t rotations, Random& random)>;

double Normal(double deviation, Random& random) {
  return std::normal_distribution<double>(0, deviation)(random);
}
double Exponential(double mean, Random& random) {
  return std::exponential_distribution<double>(1 / mean)(random);
}
double Poisson(double mean, Random& random) {
  return static_cast<double>(std::poisson_distribution<int>(mean)(random));
}

// A rate that the machine makes drift, and that is lower at the start.
std::vector<double> Steady(std::size_t rotations, Random& random) {
  std::vector<double> events;
  double drift = 0;
  for (std::size_t i = 0; i < rotations; ++i) {
    drift = 0.9 * drift + Normal(0.02, random);
    const double level = i == 0 ? 0.95 : 1;
    events.push_back(1700 * level * (1 + drift + Normal(0.02, random)));
  }
  return events;
}

// Bursts of 5 ms, pauses of 15 ms on average.
std::vector<double> Bursty(std::size_t rotations, Random& random) {
  constexpr double kRotateMs = 10;
  std::vector<double> events;
  bool on = random() % 4 == 0;
  double left_ms = Exponential(on ? 5 : 15, random);
  for (std::size_t i = 0; i < rotations; ++i) {
    double on_ms = 0;
    for (double ms = 0; ms < kRotateMs;) {
      const double part_ms = std::min(left_ms, kRotateMs - ms);
      ms += part_ms;
      left_ms -= part_ms;
      if (on) on_ms += part_ms;
      if (left_ms > 0) continue;
      on = !on;
      left_ms = Exponential(on ? 5 : 15, random);
    }
    events.push_back(Poisson(20 * on_ms, random));
  }
  return events;
}

std::vector<double> Rare(std::size_t rotations, Random& random) {
  std::vector<double> events;
  for (std::size_t i = 0; i < rotations; ++i) {
    events.push_back(Poisson(15.0 / static_cast<double>(rotations), random));
  }
  return events;
}

// A period of two rotations: sets that alternated would see one half of it.
std::vector<double> Periodic(std::size_t rotations, Random& random) {
  std::vector<double> events;
  for (std::size_t i = 0; i < rotations; ++i) {
    events.push_back(Poisson(i % 2 == 0 ? 1000 : 200, random));
  }
  return events;
}

Report MustReconstruct(MemoryTrace& trace) {
  auto report = Reconstruct(trace, {});
  REQUIRE(report.ok());
  return *std::move(report);
}

const ThreadRow& Row(const Report& report, std::int32_t tid) {
  for (const ThreadRow& row : report.threads) {
    if (row.tid == tid) return row;
  }
  FAIL("no thread " << tid);
  return report.threads.front();
}

// `program` alone on a CPU.
void AddRun(const Program& program, std::size_t sets, std::size_t rotations,
            std::uint32_t seed, Coverage& coverage) {
  Random random(seed);
  MemoryTrace trace;
  MultiplexedCpu cpu(trace, sets, seed, 10);
  std::uint64_t truth = 0;
  const std::vector<double> amounts = program(rotations, random);
  for (std::size_t i = 0; i < rotations; ++i) {
    if (i != 0) cpu.Rotate();
    const auto events = static_cast<std::uint64_t>(std::llround(amounts[i]));
    cpu.Run(kRotateNs - 50'000 + random() % 100'000, events);
    truth += events;
  }
  cpu.End();
  const Report report = MustReconstruct(trace);
  const ThreadRow& row = Row(report, 10);
  REQUIRE(row.counts[MultiplexedCpu::kAlways] == truth);
  const auto& scaled = row.scaled[MultiplexedCpu::kFirst];
  if (scaled) coverage.Add(*scaled, truth);
}

const struct {
  const char* name;
  Program program;
} kPrograms[] = {{"steady", Steady},
                 {"bursty", Bursty},
                 {"rare", Rare},
                 {"periodic", Periodic}};

TEST_CASE("calibration: intervals hold the truth of a program alone on a CPU",
          "[rmap][property]") {
  for (const auto& [name, program] : kPrograms) {
    for (const std::size_t sets : {2u, 3u}) {
      CAPTURE(name, sets);
      Coverage coverage;
      for (std::uint32_t seed = 0; seed < 2000; ++seed) {
        // Not a whole number of rounds.
        const std::size_t rotations = sets * (10 + seed % 21) + seed % 3;
        AddRun(program, sets, rotations, seed, coverage);
      }
      coverage.Print(
          (std::string(name) + ", sets " + std::to_string(sets)).c_str());
      coverage.Check();
    }
  }
}

// Each of many sets has one interval in each half of a round
// (rotation_schedule.h). In a short command there are few rounds, too few for
// the two rates of `periodic` to look like a normal distribution.
TEST_CASE("calibration: intervals of many sets hold the truth",
          "[rmap][property]") {
  for (const auto& [name, program] : kPrograms) {
    for (const bool few : {false, true}) {
      constexpr std::size_t kSets = 30;
      CAPTURE(name, few);
      Coverage coverage;
      for (std::uint32_t seed = 0; seed < 400; ++seed) {
        const std::size_t turns = few ? 4 + seed % 9 : 10 + seed % 21;
        AddRun(program, kSets, kSets * turns + seed % 7, seed, coverage);
      }
      coverage.Print((std::string(name) + ", sets " + std::to_string(kSets) +
                      (few ? ", few turns" : ""))
                         .c_str());
      CHECK(coverage.intervals > 350);
      CHECK(coverage.percent() >= (few ? 88 : 93));
      CHECK(std::sqrt(coverage.stated / coverage.wrong) > 0.85);
    }
  }
}

// Two threads share the CPU; some switches between them are without counters,
// and what was counted around these has no owner.
TEST_CASE("calibration: intervals hold the truth of threads that share a CPU",
          "[rmap][property]") {
  for (const bool uncounted : {false, true}) {
    CAPTURE(uncounted);
    Coverage coverage[2];
    for (std::uint32_t seed = 0; seed < 2000; ++seed) {
      Random random(seed);
      MemoryTrace trace;
      MultiplexedCpu cpu(trace, 2, seed, 10);
      std::uint64_t truth[2] = {}, turn = 0;
      const std::size_t rotations = 30 + seed % 40;
      for (std::size_t i = 0; i < rotations; ++i) {
        if (i != 0) cpu.Rotate();
        for (int part = static_cast<int>(random() % 6); part >= 0; --part) {
          const std::uint64_t ns = 500'000 + random() % 3'000'000;
          // Thread 10 has few events, thread 11 many.
          const auto events = static_cast<std::uint64_t>(Poisson(
              static_cast<double>(ns) * (turn == 0 ? 1e-6 : 2e-5), random));
          cpu.Run(ns, events);
          truth[turn] += events;
          turn ^= random() % 4 != 0 ? 1 : 0;
          const std::uint32_t next = 10 + static_cast<std::uint32_t>(turn);
          if (uncounted && random() % 10 == 0) {
            cpu.SwitchUncounted(next);
          } else {
            cpu.Switch(next);
          }
        }
      }
      cpu.End();
      const Report report = MustReconstruct(trace);
      for (const int thread : {0, 1}) {
        const auto& scaled = Row(report, 10 + thread).scaled[2];
        if (scaled) coverage[thread].Add(*scaled, truth[thread]);
      }
    }
    for (const Coverage& of_thread : coverage) {
      of_thread.Print(uncounted ? "threads, hidden switches" : "threads");
      of_thread.Check(uncounted ? 99 : 97);
      // An interval without counters is missing, not empty.
      CHECK(std::abs(of_thread.off) < 0.01 * of_thread.true_sum);
    }
  }
}

}  // namespace
}  // namespace countrace::rmap
