// The test of two periods against distributions that are known, and sums of
// samples that come from two.
#include "rmap/samples/rows/period_comparison.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "logformat/sample_points.h"
#include "rmap/result/chi_squared.h"
#include "rmap/samples/rows/function_rows.h"
#include "rmap/samples/sums/sample_sums.h"

namespace countrace::rmap {
namespace {

using logformat::SamplePoint;

std::vector<PeriodComparison> Compared(const Samples& samples) {
  CodePlaces places(samples, SampleBy::kFunction);
  return ComparePeriods(samples, places);
}

TEST_CASE("chi squared: even degrees of freedom have closed forms") {
  for (double x = 0; x < 800; x = x * 1.3 + 0.01) {
    CAPTURE(x);
    CHECK(ChiSquaredTail(x, 2) == Approx(std::exp(-x / 2)).epsilon(1e-10));
    CHECK(ChiSquaredTail(x, 4) ==
          Approx(std::exp(-x / 2) * (1 + x / 2)).epsilon(1e-10));
    CHECK(ChiSquaredTail(x, 1) ==
          Approx(std::erfc(std::sqrt(x / 2))).epsilon(1e-10));
  }
  CHECK(ChiSquaredTail(1e6, 3) == 0);
}

TEST_CASE("period comparison: a table of two rows as in the textbook") {
  PeriodComparison out;
  // Expected: 20 and 30 of each part.
  CHECK(TestHomogeneity({{{30, 20}}, {{10, 40}}}, out) == 0);
  CHECK(out.chi_squared == Approx(5 + 10. / 3 + 5 + 10. / 3));
  CHECK(out.degrees_of_freedom == 1);
  CHECK(out.p == Approx(std::erfc(std::sqrt(out.chi_squared / 2))));
  CHECK(out.disagree());
  PeriodComparison same;
  TestHomogeneity({{{10, 20}}, {{20, 40}}, {{5, 10}}}, same);
  CHECK(same.chi_squared == Approx(0).margin(1e-12));
  CHECK(same.p == Approx(1));
}

TEST_CASE("period comparison: two periods that agree, and two that do not") {
  std::mt19937 random(7);
  std::discrete_distribution<std::size_t> even({50, 30, 15, 5});
  std::discrete_distribution<std::size_t> beats({55, 25, 15, 5});
  constexpr int kTries = 3000;
  int small = 0, found = 0;
  for (int i = 0; i < kTries; ++i) {
    for (const bool agree : {true, false}) {
      std::vector<HitsOfPeriods> parts(4);
      for (int hit = 0; hit < 1620; ++hit) ++parts[even(random)].hits[0];
      for (int hit = 0; hit < 1000; ++hit) {
        ++parts[agree ? even(random) : beats(random)].hits[1];
      }
      PeriodComparison out;
      TestHomogeneity(parts, out);
      if (agree) {
        small += out.p < 0.05;
      } else {
        found += out.p < 0.05;
      }
    }
  }
  CHECK(small > kTries * 4 / 100);
  CHECK(small < kTries * 6 / 100);
  CHECK(found > kTries * 6 / 10);
}

// Samples of one event with the periods 100 and 300, whose stacks are a
// function by its caller, all named by the recorder.
class TwoPeriods {
 public:
  TwoPeriods() : sums_(Info()) {
    Define(4, {0}, {"-", logformat::kJitCode});
    for (std::uint64_t i = 0; i < 10; ++i) {
      Define(5, {0, 100 * i, 100}, {"f" + std::to_string(i)});
    }
  }
  // The stack has the number that frames have from 1 on.
  void Stack(std::uint64_t caller, std::uint64_t function) {
    Define(3, {frames_ + 1, 0, 0, 100 * caller + 1}, {});
    Define(3, {frames_ + 2, frames_ + 1, 0, 100 * function + 1}, {});
    frames_ += 2;
  }
  void Sample(std::uint32_t point, std::uint64_t stack, int times) {
    for (int i = 0; i < times; ++i) {
      sums_.Add(Make(point, {kPeriods[point], 2 * stack}, {}), {});
    }
  }
  void Define(std::uint32_t point, const std::vector<std::uint64_t>& numbers,
              const std::vector<std::string>& texts) {
    sums_.Define(Make(point, numbers, texts));
  }
  Samples Take() const { return sums_.Take(); }

  static constexpr std::uint32_t kFirst = logformat::kHookIdKernelMin;
  static constexpr std::uint64_t kPeriods[] = {100, 300, 50};
  static logformat::TraceInfo Info() {
    logformat::TraceInfo info;
    const auto add = [&info](SamplePoint point, const char* name,
                             const std::string& location) {
      info.hooks.push_back(
          logformat::DescribeSamplePoint(point, name, location));
      info.hooks.back().id =
          kFirst + static_cast<std::uint32_t>(info.hooks.size()) - 1;
    };
    const std::string both = logformat::TwoPeriodsText(300, 100);
    add(SamplePoint::kSample, "page-faults", both);
    add(SamplePoint::kSample, "page-faults", both);
    // The same event with one period, as other recorders may have it.
    add(SamplePoint::kSample, "page-faults", "every 50");
    for (const SamplePoint point :
         {SamplePoint::kFrame, SamplePoint::kFile, SamplePoint::kSymbol,
          SamplePoint::kCount}) {
      add(point, "", "");
    }
    return info;
  }

 private:
  const logformat::EventRecord& Make(std::uint32_t point,
                                     const std::vector<std::uint64_t>& numbers,
                                     const std::vector<std::string>& texts) {
    bytes_.assign(8, std::byte{0});
    const auto body = logformat::SampleRecordBody(0, numbers, texts);
    bytes_.insert(bytes_.end(), body.begin(), body.end());
    record_ = {};
    record_.event_id = static_cast<std::uint16_t>((kFirst + point) * 2);
    record_.bytes = bytes_;
    return record_;
  }

  SampleSums sums_;
  std::uint64_t frames_ = 0;
  std::vector<std::byte> bytes_;
  logformat::EventRecord record_{};
};

TEST_CASE("sample sums: two periods of an event are one event") {
  TwoPeriods made;
  made.Stack(0, 1);
  made.Stack(0, 2);
  made.Sample(0, 1, 60);  // 6,000 events
  made.Sample(0, 2, 30);
  made.Sample(1, 1, 20);  // the same
  made.Sample(1, 2, 10);
  made.Sample(2, 1, 5);
  made.Define(6, {TwoPeriods::kFirst, 10100, 500, 400, 0, 0}, {});
  made.Define(6, {TwoPeriods::kFirst + 1, 10101, 300, 600, 1, 2}, {});
  made.Define(6, {TwoPeriods::kFirst + 2, 260, 0, 0, 0, 0}, {});
  const Samples samples = made.Take();
  REQUIRE(samples.events.size() == 2);
  CHECK(samples.events[0].rate == "every 100 and 300");
  CHECK(samples.events[0].periods == 2);
  CHECK(samples.events[1].periods == 1);
  const auto books = SampleBooksOf(samples);
  CHECK(books[0].hits == 120);
  CHECK(books[0].counted == 10100);
  CHECK(books[0].processes == 9000);
  CHECK(books[0].idle == 400);
  CHECK(books[0].outside == 500);
  CHECK(books[0].residual == 200);
  CHECK(books[0].per_cpu == 200);
  CHECK(books[0].lost == 1);
  CHECK(books[1].processes == 250);
  CHECK(books[1].residual == 10);
  const SampleTable table =
      MakeCodeTable(samples, TwoPeriods::Info(), SampleBy::kFunction);
  for (const SampleRow& row : table.rows) {
    if (row.event != 0 || row.function != "f1") continue;
    CHECK(row.self.value == 6000);
    CHECK(row.self.share == Approx(2. / 3));
    CHECK(row.self.lo < 6000);
    CHECK(row.self.hi > 6000);
  }
  const auto periods = Compared(samples);
  REQUIRE(periods.size() == 1);
  CHECK(periods[0].hits[0] == 90);
  CHECK(periods[0].hits[1] == 30);
  CHECK(periods[0].degrees_of_freedom == 1);
  CHECK(periods[0].p == Approx(1));
}

TEST_CASE("period comparison: parts are functions by their caller") {
  TwoPeriods made;
  made.Stack(0, 1);
  made.Stack(2, 1);
  made.Stack(3, 1);
  made.Stack(0, 4);
  made.Sample(0, 1, 100);
  made.Sample(1, 1, 10);  // too seldom
  made.Sample(0, 2, 100);
  made.Sample(1, 2, 90);  // too often
  made.Sample(0, 3, 1);   // too few: with what else there is
  made.Sample(1, 4, 1);
  const auto periods = Compared(made.Take());
  REQUIRE(periods.size() == 1);
  CHECK(periods[0].degrees_of_freedom == 1);
  CHECK(periods[0].disagree());
  CHECK(periods[0].most == "f1, called by f0");
  CHECK(periods[0].share[0] == Approx(100. / 201));
  CHECK(periods[0].share[1] == Approx(10. / 101).margin(0.02));
}

TEST_CASE("period comparison: too little of it is said") {
  TwoPeriods made;
  made.Stack(0, 1);
  CHECK(Compared(made.Take())[0].degrees_of_freedom == 0);
  made.Sample(0, 1, 1000);
  CHECK(Compared(made.Take())[0].degrees_of_freedom == 0);
  made.Sample(1, 1, 1000);
  const auto one = Compared(made.Take());
  CHECK(one[0].degrees_of_freedom == 0);
  CHECK_FALSE(one[0].disagree());
}

}  // namespace
}  // namespace countrace::rmap
