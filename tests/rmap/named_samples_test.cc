// Samples as bytes: sums of any range are those of the samples themselves, and
// damaged bytes are found or harmless.
#include "rmap/samples/names/named_samples.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "logformat/packet_layout.h"
#include "logformat/sample_points.h"
#include "rmap/samples/rows/function_rows.h"
#include "rmap/samples/rows/period_comparison.h"
#include "rmap/samples/rows/sample_naming.h"
#include "rmap/samples/sums/sample_sums.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using logformat::SamplePoint;

constexpr std::uint32_t kFirst = logformat::kHookIdKernelMin;
constexpr std::uint64_t kBegin = 1'000'000;

// page-faults with two periods, and waits off the CPU.
logformat::TraceInfo Info() {
  logformat::TraceInfo info;
  info.begin_ns = kBegin;
  const std::string both = logformat::TwoPeriodsText(300, 100);
  for (const auto& [point, name, location] :
       {std::tuple(SamplePoint::kSample, "page-faults", both),
        std::tuple(SamplePoint::kSample, "page-faults", both),
        std::tuple(SamplePoint::kSample, "off-cpu",
                   std::string("1.00 ms or longer")),
        std::tuple(SamplePoint::kFrame, "", std::string()),
        std::tuple(SamplePoint::kFile, "", std::string()),
        std::tuple(SamplePoint::kSymbol, "", std::string()),
        std::tuple(SamplePoint::kCount, "", std::string()),
        std::tuple(SamplePoint::kShort, "", std::string())}) {
    info.hooks.push_back(logformat::DescribeSamplePoint(point, name, location));
    info.hooks.back().id =
        kFirst + static_cast<std::uint32_t>(info.hooks.size()) - 1;
  }
  return info;
}
enum Point { kFrame = 3, kFile, kSymbol, kCount, kShort };

// The same records for each of its sums.
class Recording {
 public:
  explicit Recording(unsigned seed) : random_(seed) {
    Add(kFile, {0}, {"-", logformat::kJitCode});
    Add(kFile, {1}, {"-", logformat::kKernelCode});
    for (std::uint64_t i = 0; i < 6; ++i) {
      Add(kSymbol, {i % 2, 100 * i, 100}, {"f" + std::to_string(i)});
    }
    for (std::uint64_t frame = 1; frame <= 30; ++frame) {
      const std::uint64_t of = random_() % 6;
      Add(kFrame, {frame, random_() % frame, of % 2, 100 * of + random_() % 9},
          {});
    }
    std::uint64_t time_ns = kBegin;
    for (int i = 0; i < 500; ++i) {
      time_ns += 1 + random_() % 5000;
      const auto point = static_cast<std::uint32_t>(random_() % 3);
      const std::uint64_t period = point == 0   ? 100
                                   : point == 1 ? 300
                                                : 1'000'000 + random_();
      SampleContext context;
      context.process = static_cast<ProcessIndex>(random_() % 3);
      context.thread = static_cast<ThreadIndex>(random_() % 7);
      // 31: it was lost.
      samples_.push_back({point, {period, random_() % 32}, time_ns, context});
    }
    end_ns_ = time_ns;
    Add(kCount, {kFirst, 12345, 20, 30, 1, 2}, {});
    Add(kShort, {kFirst + 2, 3, 4, 5, 6}, {});
  }

  Samples Of(std::uint64_t from_ns, std::uint64_t until_ns,
             std::size_t most_timed) const {
    SampleSums sums(Info(), most_timed);
    for (const Definition& one : definitions_) {
      sums.Define(Make(one.point, one.numbers, one.texts, 0));
    }
    bool begun = false;
    for (const Sample& one : samples_) {
      if (one.time_ns >= until_ns) break;
      if (one.time_ns >= from_ns && !std::exchange(begun, true)) sums.Drop();
      sums.Add(Make(one.point, one.numbers, {}, one.time_ns), one.context);
    }
    if (!begun) sums.Drop();
    return sums.Take();
  }
  std::uint64_t Instant() {
    return kBegin + random_() % (end_ns_ + 2 - kBegin);
  }
  std::mt19937& random() { return random_; }

 private:
  struct Definition {
    std::uint32_t point;
    std::vector<std::uint64_t> numbers;
    std::vector<std::string> texts;
  };
  struct Sample {
    std::uint32_t point;
    std::vector<std::uint64_t> numbers;
    std::uint64_t time_ns;
    SampleContext context;
  };
  void Add(std::uint32_t point, const std::vector<std::uint64_t>& numbers,
           const std::vector<std::string>& texts) {
    definitions_.push_back({point, numbers, texts});
  }
  logformat::EventRecord Make(std::uint32_t point,
                              const std::vector<std::uint64_t>& numbers,
                              const std::vector<std::string>& texts,
                              std::uint64_t time_ns) const {
    bytes_.assign(8, std::byte{0});
    const auto body = logformat::SampleRecordBody(0, numbers, texts);
    bytes_.insert(bytes_.end(), body.begin(), body.end());
    logformat::EventRecord record{};
    record.time_ns = time_ns;
    record.event_id = static_cast<std::uint16_t>((kFirst + point) * 2);
    record.bytes = bytes_;
    return record;
  }

  std::mt19937 random_;
  std::vector<Definition> definitions_;
  std::vector<Sample> samples_;
  std::uint64_t end_ns_ = 0;
  mutable std::vector<std::byte> bytes_;
};

std::span<const std::byte> BytesOf(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

using Row = std::tuple<std::uint32_t, std::string, std::string, bool,
                       std::uint64_t, std::uint64_t, std::uint64_t,
                       std::uint64_t, std::uint64_t, std::uint64_t>;
std::vector<Row> RowsOf(const SampleTable& table) {
  std::vector<Row> rows;
  for (const SampleRow& row : table.rows) {
    rows.emplace_back(row.event, row.function, row.dso, row.inlined,
                      row.self.value, row.self.lo, row.self.hi, row.total.value,
                      row.total.lo, row.total.hi);
  }
  return rows;
}

TEST_CASE("named samples: tables of any range are those of its samples") {
  for (unsigned seed = 0; seed < test_support::PropertyRuns(60u); ++seed) {
    CAPTURE(seed);
    Recording recording(seed);
    Samples whole = recording.Of(0, ~std::uint64_t{0}, 1000);
    REQUIRE(whole.timed.size() == 500);
    whole.processes = {{ProcessIndex{0}, 1000 * seed},
                       {ProcessIndex{1}, 20'000},
                       {ProcessIndex{2}, 5000}};
    whole.interrupts_ns = seed;
    whole.cpu_ns = 13'000;
    REQUIRE(whole.stacks_lost > 0);
    NamedSamples made = NameSamples(whole, Info());
    made.samples.of_part = seed % 2 == 1;
    made.samples.lost_records = seed;
    const auto named = DecodeNamedSamples(BytesOf(EncodeNamedSamples(made)));
    REQUIRE(named.ok());
    CHECK(named->samples.of_part == made.samples.of_part);
    CHECK(named->samples.lost_records == seed);
    CHECK(named->samples.ends_lost == whole.ends_lost);
    for (int i = 0; i < 4; ++i) {
      std::uint64_t from = recording.Instant(), until = recording.Instant();
      if (from > until) std::swap(from, until);
      if (i == 0) from = 0, until = ~std::uint64_t{0};
      Samples truth = recording.Of(from, until, 0);
      CHECK(truth.timed.empty());
      const Samples found = SamplesOfRange(*named, from, until);
      CHECK(found.of_part == (i != 0 || made.samples.of_part));
      truth.of_part = found.of_part;
      truth.lost_records = found.lost_records;
      // The time that processes had in a range is not stored.
      REQUIRE(found.processes.size() == (i == 0 ? 3 : 0));
      if (i == 0) {
        CHECK(found.processes[0].on_cpu_ns == 1000 * seed);
        CHECK(found.processes[2].process == ProcessIndex{2});
        CHECK(found.interrupts_ns == seed);
        CHECK(found.cpu_ns == 13'000);
      }
      CHECK(found.stacks_lost == truth.stacks_lost);
      SampleChoice choice;
      for (const SampleContext& context : whole.contexts) {
        choice.chosen.push_back(i % 2 == 0 || context.thread != ThreadIndex{3});
      }
      NamedPlaces places(*named);
      CHECK(RowsOf(MakePlaceTable(found, named->in, places, choice)) ==
            RowsOf(MakeCodeTable(truth, Info(), SampleBy::kFunction, choice)));
      CodePlaces looked_up(truth, SampleBy::kFunction);
      const auto compared = ComparePeriods(found, places, choice.chosen);
      const auto known = ComparePeriods(truth, looked_up, choice.chosen);
      REQUIRE(compared.size() == 1);
      REQUIRE(known.size() == 1);
      CHECK(compared[0].chi_squared == known[0].chi_squared);
      CHECK(compared[0].degrees_of_freedom == known[0].degrees_of_freedom);
      CHECK(compared[0].most == known[0].most);
      const auto books = SampleBooksOf(found), expected = SampleBooksOf(truth);
      REQUIRE(books.size() == 2);
      for (std::size_t event = 0; event < 2; ++event) {
        CHECK(books[event].processes == expected[event].processes);
        CHECK(books[event].counted == expected[event].counted);
        CHECK(books[event].residual == expected[event].residual);
        CHECK(books[event].unseen == expected[event].unseen);
      }
    }
  }
}

TEST_CASE("named samples: more samples than are wanted leave none") {
  const Recording recording(1);
  CHECK(recording.Of(0, ~std::uint64_t{0}, 499).timed.empty());
  CHECK(recording.Of(0, ~std::uint64_t{0}, 500).timed.size() == 500);
  // Those before a range do not count.
  const Samples all = recording.Of(0, ~std::uint64_t{0}, 500);
  const std::uint64_t late = all.timed[400].time_ns;
  CHECK(recording.Of(late, ~std::uint64_t{0}, 100).timed.size() == 100);
}

TEST_CASE("named samples: damaged bytes are found, or give some samples") {
  Recording recording(2);
  const std::string bytes = EncodeNamedSamples(
      NameSamples(recording.Of(0, ~std::uint64_t{0}, 1000), Info()));
  CHECK(!DecodeNamedSamples({}).ok());
  CHECK(!DecodeNamedSamples(BytesOf(bytes + '\0')).ok());
  int found = 0;
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    const std::string part = bytes.substr(0, cut);
    CHECK(!DecodeNamedSamples(BytesOf(part)).ok());
    std::string flipped = bytes;
    flipped[cut] =
        static_cast<char>(flipped[cut] ^ (1 << recording.random()() % 8));
    const auto named = DecodeNamedSamples(BytesOf(flipped));
    if (!named.ok()) {
      ++found;
      continue;
    }
    NamedPlaces places(*named);
    MakePlaceTable(SamplesOfRange(*named, 0, ~std::uint64_t{0}), named->in,
                   places, {});
  }
  CHECK(found > 0);
}

}  // namespace
}  // namespace countrace::rmap
