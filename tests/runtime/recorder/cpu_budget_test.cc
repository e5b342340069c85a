#include "runtime/recorder/session/cpu_budget.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <random>
#include <string>
#include <utility>

#include "tests/support/property_runs.h"

namespace countrace::runtime {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000, kSecond = 1'000'000'000;

// A recorder whose parts cost so much, as parts of a CPU.
struct Costs {
  double always = 0, calls = 0, samples = 0;
};

class Recorder {
 public:
  Recorder(double share, bool has_samples)
      : has_samples_(has_samples), budget_(share, true, has_samples, 0, {}) {}

  void Pass(const Costs& costs) {
    const Thinning thinning = budget_.thinning();
    const std::uint64_t ns =
        (thinning == Thinning::kNothing ? 10 : 80) * kMillisecond;
    double cost = costs.always;
    if (thinning == Thinning::kNothing) cost += costs.calls;
    if (has_samples_ && thinning != Thinning::kCallsAndSamples) {
      cost += costs.samples;
    }
    const auto spent =
        static_cast<std::uint64_t>(cost * static_cast<double>(ns));
    now_ns_ += ns;
    spent_.bpf_ns += spent / 2;
    spent_.process_ns += spent - spent / 2;
    most_of_pass_ns_ = std::max(most_of_pass_ns_, spent);
    budget_.Pass(now_ns_, spent_);
  }
  const CpuBudget& budget() const { return budget_; }
  std::uint64_t now_ns() const { return now_ns_; }
  std::uint64_t spent_ns() const { return spent_.sum(); }
  std::uint64_t most_of_pass_ns() const { return most_of_pass_ns_; }

 private:
  const bool has_samples_;
  CpuBudget budget_;
  std::uint64_t now_ns_ = 0, most_of_pass_ns_ = 0;
  CpuSpent spent_;
};

TEST_CASE(
    "cpu_budget: over any ten seconds the share is kept, of whatever load",
    "[runtime][property]") {
  const auto loads = test_support::PropertyRuns<std::uint32_t>(2000);
  for (std::uint32_t seed = 0; seed < loads; ++seed) {
    std::mt19937 random(seed);
    const auto part = [&random] {
      return static_cast<double>(random() % 1001) / 1000;
    };
    const double share = 0.001 + 0.1 * part();
    Recorder recorder(share, seed % 2 == 0);
    std::deque<std::pair<std::uint64_t, std::uint64_t>> window{{0, 0}};
    Costs costs;
    while (recorder.now_ns() < 60 * kSecond) {
      if (random() % 100 == 0) {
        costs = {0.9 * share * part(), 2 * part() * part(),
                 0.3 * part() * part()};
      }
      recorder.Pass(costs);
      window.emplace_back(recorder.now_ns(), recorder.spent_ns());
      while (window.front().first + 10 * kSecond < recorder.now_ns()) {
        window.pop_front();
      }
      const double ns =
          static_cast<double>(window.back().first - window.front().first);
      const double most = share * (ns + 3e9) +
                          3.0 * static_cast<double>(recorder.most_of_pass_ns());
      CAPTURE(seed, recorder.now_ns());
      REQUIRE(static_cast<double>(window.back().second -
                                  window.front().second) <= most);
    }
    CHECK(recorder.budget().Exceeded().empty());
  }
}

TEST_CASE("cpu_budget: what fits is not thinned, and says nothing",
          "[runtime]") {
  Recorder recorder(0.01, /*has_samples=*/true);
  for (int i = 0; i < 10000; ++i) recorder.Pass({0.004, 0.003, 0.002});
  CHECK(recorder.budget().thinning() == Thinning::kNothing);
  CHECK(!recorder.budget().LeftOut(0));
  CHECK(recorder.budget().Exceeded().empty());
}

TEST_CASE("cpu_budget: calls go first, samples only if that is not enough",
          "[runtime]") {
  Recorder recorder(0.01, /*has_samples=*/true);
  for (int i = 0; i < 10000; ++i) {
    recorder.Pass({0.003, 0.2, 0.004});
    REQUIRE(recorder.budget().thinning() != Thinning::kCallsAndSamples);
  }
  const auto left_out = recorder.budget().LeftOut(0);
  REQUIRE(left_out);
  CHECK(left_out->cause == logformat::kLeftOut);
  CHECK(left_out->text.find("--max-cpu 1%, of ") != std::string::npos);
  CHECK(left_out->text.find("samples") == std::string::npos);
  bool without_samples = false;
  for (int i = 0; i < 10000; ++i) {
    recorder.Pass({0.003, 0.2, 0.1});
    without_samples |=
        recorder.budget().thinning() == Thinning::kCallsAndSamples;
  }
  CHECK(without_samples);
  CHECK(recorder.budget().LeftOut(7)->text.find("7 samples") !=
        std::string::npos);
}

TEST_CASE("cpu_budget: what is not recorded anyway is not left out",
          "[runtime]") {
  CpuBudget budget(0.01, /*has_calls=*/false, /*has_samples=*/false, 0, {});
  for (std::uint64_t i = 1; i < 1000; ++i) {
    budget.Pass(i * 10 * kMillisecond, {i * kMillisecond, 0});
  }
  CHECK(budget.thinning() == Thinning::kCalls);
  CHECK(!budget.LeftOut(0));
  CHECK(!budget.Exceeded().empty());
}

TEST_CASE("cpu_budget: what is never thinned and costs more is reported",
          "[runtime]") {
  Recorder recorder(0.01, /*has_samples=*/false);
  for (int i = 0; i < 10000; ++i) recorder.Pass({0.024, 0.2, 0});
  CHECK(recorder.budget().thinning() == Thinning::kCalls);
  CHECK_THAT(recorder.budget().Exceeded(),
             Catch::Contains("alone took 2.40% of a CPU, BPF programs 1.20%, "
                             "the recorder 1.20%"));
}

}  // namespace
}  // namespace countrace::runtime
