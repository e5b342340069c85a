// Units behind the tables: names of numbers, estimates from calls in rotations.
#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rmap/result/bounds.h"
#include "rmap/result/scaled_count.h"
#include "rmap/tables/bounds/bounds_summary.h"
#include "rmap/tables/input/attribution.h"

namespace countrace::rmap {
namespace {

TEST_CASE("numbers: each has a name of its own, which finds it", "[rmap]") {
  const EventColumns events = {{.name = "cycles"}, {.name = "faults"}};
  std::set<std::string> names;
  const auto check = [&](Number number) {
    const std::string name = NumberName(events, number);
    CAPTURE(name);
    CHECK(names.insert(name).second);
    CHECK(NumberNamed(events, name) == number);
    CHECK_FALSE(NumberNamed(events, name + "x"));
    CHECK_FALSE(NumberNamed(events, "x" + name));
  };
  for (int i = 0; i < static_cast<int>(Number::kCounts); ++i) {
    check(static_cast<Number>(i));
  }
  for (std::size_t event = 0; event < events.size(); ++event) {
    for (const CountPart part :
         {CountPart::kWhole, CountPart::kIncl, CountPart::kExcl}) {
      check(CountNumber(event, part));
    }
  }
  CHECK(NumberName(events, CountNumber(1, CountPart::kExcl)) ==
        "counts.faults.excl");
  CHECK(NumberName(events, Number::kWallP99) == "wall_ns.p99");
}

TEST_CASE("estimates: a row has the slices of its least sure part", "[rmap]") {
  const auto amounts = [](std::uint64_t slices) {
    SegmentAmounts out;
    DumpSum sum;
    sum.slices = slices;
    sum.incl = 7;
    sum.any_value = true;
    if (slices != 0) sum.scaling = DumpSum::Scaling::kByCalls;
    out.incl.dumps = out.excl.dumps = {sum};
    return out;
  };
  const auto slices_of = [&](const std::vector<std::uint64_t>& parts) {
    SegmentAmounts sum;
    for (const std::uint64_t slices : parts) {
      AddAmounts(amounts(slices), /*recursive=*/false, sum);
    }
    EventPlan plan;
    plan.source = SegmentSource::kThreadDumps;
    plan.dump = 0;
    const auto count = CountOf(plan, sum);
    REQUIRE(count);
    CHECK(count->incl == 7 * parts.size());
    return count->estimate.Read().slices;
  };
  CHECK(slices_of({3}) == 3);
  CHECK(slices_of({3, 5}) == 3);
  CHECK(slices_of({5, 3, 4}) == 3);
  CHECK(slices_of({0, 5}) == 5);  // 0: not an estimate
  CHECK(slices_of({5, 0}) == 5);
}

TEST_CASE("estimates: few slices widen the interval as Student's t does",
          "[rmap]") {
  // Degrees of freedom, and the quantile at 97.5 % from a table.
  const std::pair<std::uint64_t, double> table[] = {{1, 12.706}, {2, 4.303},
                                                    {5, 2.571},  {10, 2.228},
                                                    {30, 2.042}, {120, 1.980}};
  for (const auto& [freedom, quantile] : table) {
    CAPTURE(freedom);
    ScaledCount count;
    // So many that the interval reaches as far up as down.
    count.value = 1'000'000'000;
    count.counted = count.value / 2;
    count.running = 1;
    count.enabled = 2;
    count.slices = freedom + 1;
    count.freedom = static_cast<double>(freedom);
    count.standard_error = 10'000;
    const auto interval = count.Interval95();
    REQUIRE(interval);
    CHECK(static_cast<double>(interval->hi - count.value) ==
          Approx(10'000 * quantile).epsilon(0.003));
    CHECK(static_cast<double>(count.value - interval->lo) ==
          Approx(10'000 * quantile).epsilon(0.003));
  }
  CHECK_FALSE(ScaledCount().Interval95());
}

TEST_CASE("summary of bounds: how many, how many without a limit, how wide",
          "[rmap]") {
  Report report;
  CHECK(SummaryOfBounds(report).numbers == 0);
  CHECK(SummaryOfBounds(report).mean_width == 0);
  report.threads.resize(2);
  report.threads[0].bounds.Set(Number::kOnCpu, 0, Bounds());
  CHECK(SummaryOfBounds(report).numbers == 1);
  CHECK(SummaryOfBounds(report).without_limit == 1);
  CHECK(SummaryOfBounds(report).mean_width == 0);
  report.threads[1].bounds.Set(Number::kOnCpu, 50, {50, 100});  // 0.5
  report.processes.resize(1);
  report.processes[0].bounds.Set(Number::kOnCpu, 50, {30, 40});    // 0.25
  report.processes[0].bounds.Set(Number::kDispatches, 4, {4, 4});  // exact
  report.segments.resize(1);
  report.segments[0].bounds.Set(Number::kCalls, 1, {0, 1});  // 1
  report.segment_paths = report.segments;
  report.wakers.resize(1);
  report.wakers[0].bounds.Set(Number::kTimes, 1, {1, Bounds::kNone});
  report.cpu_rows.resize(1);
  report.cpu_rows[0].bounds.Set(Number::kBusy, 1, {0, 0});  // 0
  const BoundsSummary summary = SummaryOfBounds(report);
  CHECK(summary.numbers == 7);
  CHECK(summary.without_limit == 2);
  CHECK(summary.mean_width == Approx(2.75 / 5));
}

}  // namespace
}  // namespace countrace::rmap
