// Samples of a trace whose records are lost: limits that hold what may be gone.
#include <catch2/catch.hpp>
#include <vector>

#include "logformat/sample_points.h"
#include "rmap/samples/sums/event_books.h"
#include "rmap/samples/sums/sample_sums.h"
#include "rmap/samples/sums/sampled_amount.h"
#include "rmap/state/unseen_state.h"

namespace countrace::rmap {
namespace {

using logformat::SamplePoint;

constexpr std::uint32_t kFirst = logformat::kHookIdKernelMin;
constexpr std::uint64_t kPeriod = 1000;

// A recording of two CPUs, each a stream.
class TwoCpus {
 public:
  void Sample(std::uint32_t cpu) {
    sums_.Add(Make(0, cpu, {kPeriod, 0}), SampleContext{});
  }
  void End(std::uint32_t cpu, std::uint64_t counted, std::uint64_t idle) {
    sums_.Define(Make(1, cpu, {kFirst, counted, idle, 0, 0, 0}));
  }
  SampleSums& sums() { return sums_; }
  SampleBooks Books() const { return SampleBooksOf(sums_.Take()).at(0); }
  std::uint64_t Missing() const {
    const Samples samples = sums_.Take();
    return MissingIn(samples, SampleBooksOf(samples).at(0));
  }

 private:
  static logformat::TraceInfo Info() {
    logformat::TraceInfo info;
    std::uint32_t id = kFirst;
    for (const SamplePoint point :
         {SamplePoint::kSample, SamplePoint::kCount}) {
      info.hooks.push_back(
          logformat::DescribeSamplePoint(point, "cpu-clock", "199 Hz"));
      info.hooks.back().id = id++;
    }
    return info;
  }
  const logformat::EventRecord& Make(
      std::uint32_t point, std::uint32_t cpu,
      const std::vector<std::uint64_t>& numbers) {
    bytes_.assign(8, std::byte{0});
    const auto body = logformat::SampleRecordBody(0, numbers, {});
    bytes_.insert(bytes_.end(), body.begin(), body.end());
    record_ = {};
    record_.stream = cpu;
    record_.cpu = static_cast<std::int32_t>(cpu);
    record_.event_id = static_cast<std::uint16_t>((kFirst + point) * 2);
    record_.bytes = bytes_;
    return record_;
  }

  SampleSums sums_{Info()};
  std::vector<std::byte> bytes_;
  logformat::EventRecord record_{};
};

TEST_CASE("lost samples: a CPU whose end is lost leaves the whole unknown") {
  TwoCpus trace;
  trace.Sample(0);
  trace.Sample(1);
  trace.End(0, 1100, 7);
  CHECK(trace.Books().counted == 0);
  CHECK(trace.Books().idle == 7);
  CHECK(trace.Missing() == 0);  // no record is lost
  trace.End(1, 1200, 0);
  CHECK(trace.Books().counted == 2300);
  CHECK(trace.Books().residual == 293);
}

TEST_CASE("lost samples: each lost record may be one") {
  TwoCpus trace;
  for (int i = 0; i < 30; ++i) trace.Sample(0);
  trace.sums().OnLoss(20);
  trace.sums().OnLoss(50);
  CHECK(trace.Missing() == 70 * kPeriod);
  const Samples samples = trace.sums().Take();
  SampleTotal all = EmptyTotals(samples).at(0);
  all.Add(samples.sums.at(0), samples);
  SampleWeight weight;
  weight.Add(samples.sums.at(0), samples);
  const SampledAmount amount = AmountOf(weight, all);
  CHECK(amount.value == 30 * kPeriod);
  CHECK(amount.hi >= 100 * kPeriod);
  CHECK(amount.share_lo < 0.3);  // all 70 may be of another function
  SECTION("what was counted says how many are missing") {
    trace.End(0, 40 * kPeriod, 0);
    CHECK(trace.Missing() == 10 * kPeriod);
  }
  SECTION("the part before the tables does not matter") {
    trace.sums().Drop();
    trace.Sample(1);
    CHECK(trace.Missing() == 0);
  }
  SECTION("an unknown number of records") {
    trace.sums().OnLoss(Bounds::kNone);
    CHECK(trace.Missing() > 1'000'000'000'000);
  }
}

TEST_CASE("lost samples: where each event has a sample, sums are exact") {
  Samples samples;
  samples.contexts.resize(1);
  samples.events.push_back({.name = "page-faults", .rate = "every 1"});
  samples.sums.push_back({.hits = 7, .periods = 7, .squared_periods = 7});
  samples.sums.push_back({.hits = 3, .periods = 3, .squared_periods = 3});
  samples.counts.push_back({.counted = 12, .idle = 1, .outside = 1});
  const auto amount_of = [&samples](std::size_t sum) {
    SampleTotal all = EmptyTotals(samples).at(0);
    for (const SampleSum& more : samples.sums) all.Add(more, samples);
    SampleWeight weight;
    weight.Add(samples.sums.at(sum), samples);
    return AmountOf(weight, all);
  };
  CHECK(amount_of(0).exact);
  CHECK(amount_of(0).lo == 7);
  CHECK(amount_of(0).hi == 7);
  CHECK(amount_of(0).share_hi == Approx(0.7));
  SECTION("one event has none") {
    samples.counts[0].counted = 13;
    CHECK_FALSE(amount_of(0).exact);
    CHECK(amount_of(0).hi > 7);
  }
  SECTION("a sample stands for two") {
    samples.sums[1].periods = 4;
    samples.counts[0].counted = 13;
    CHECK_FALSE(amount_of(0).exact);
  }
  SECTION("the end of a CPU is lost") {
    samples.ends_lost = true;
    CHECK_FALSE(amount_of(0).exact);
  }
  SECTION("a part of a recording") {
    samples.of_part = true;
    CHECK(amount_of(1).exact);
    samples.lost_records = 1;
    CHECK_FALSE(amount_of(1).exact);
  }
}

TEST_CASE("lost samples: sums of waits are exact while none is lost") {
  const SampleWeight weight{.hits = 2, .periods = 30};
  SampleTotal all{.of_whole = true};
  all.periods = 40;
  all.squared_periods = 500;
  const SampledAmount exact = AmountOf(weight, all);
  CHECK(exact.exact);
  CHECK(exact.lo == 30);
  CHECK(exact.hi == 30);
  CHECK(exact.share_hi == Approx(0.75));
  all.missing = 60;
  const SampledAmount open = AmountOf(weight, all);
  CHECK_FALSE(open.exact);
  CHECK(open.lo == 30);
  CHECK(open.hi == 90);
  CHECK(open.share_lo == Approx(0.3));
  CHECK(open.share_hi == Approx(0.9));
}

TEST_CASE("lost samples: a lost wait may be of any length") {
  Samples samples;
  samples.contexts.resize(1);
  samples.events.push_back({.name = "off-cpu", .rate = "", .off_cpu = true});
  SampleBooks books;
  books.hits = 1;
  books.processes = 10;
  CHECK(MissingIn(samples, books) == 0);
  samples.lost_records = 1;
  CHECK(MissingIn(samples, books) > 1'000'000'000'000);
  books.counted = 25;
  books.residual = 15;
  books.per_cpu = 20;
  CHECK(MissingIn(samples, books) == 15);
  samples.lost_records = 0;
  CHECK(MissingIn(samples, books) == 0);
  books.lost_ns = 5;  // of stacks without room
  CHECK(MissingIn(samples, books) == 5);
}

}  // namespace
}  // namespace countrace::rmap
