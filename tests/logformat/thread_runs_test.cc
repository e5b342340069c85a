// A sink that accepts runs gets the same items as one that does not, in the
// order that ItemSink promises: items and losses of CPUs in the same order,
// with the same items of threads before each of them, and each thread's own
// items in their order.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "logformat/read/trace_reader.h"
#include "logformat/records.h"
#include "tests/logformat/trace_generator.h"
#include "tests/support/property_runs.h"
#include "tests/support/trace_builder.h"

namespace countrace::logformat {
namespace {

using test_support::PropertyRuns;
using test_support::TempDirectory;
using test_support::TraceBuilder;

struct Item {
  std::uint64_t time_ns;
  StreamClass stream_class;
  std::uint32_t stream;
  std::int32_t tid;
  std::string text;
};

class Transcript final : public ItemSink {
 public:
  explicit Transcript(bool takes_runs) : takes_runs_(takes_runs) {}
  bool TakesThreadRuns() const override { return takes_runs_; }
  void OnRecord(const EventRecord& record) override {
    std::string text =
        std::to_string(record.time_ns) + " " + std::to_string(record.event_id) +
        " " + std::to_string(record.mmcr) + " " +
        std::to_string(record.present) + " " +
        std::to_string(record.payload.size()) + " " +
        (record.counters == nullptr ? "-" : std::to_string(record.counters[0]));
    text.append(reinterpret_cast<const char*>(record.bytes.data()),
                record.bytes.size());
    items.push_back(
        {record.time_ns, record.stream_class, record.stream, record.tid, text});
  }
  void OnDiscardedEvents(const DiscardedEvents& loss) override {
    items.push_back({loss.begin_ns, loss.stream_class, loss.stream, loss.tid,
                     "events " + std::to_string(loss.begin_ns) + " " +
                         std::to_string(loss.count)});
  }
  void OnDiscardedPackets(const DiscardedPackets& loss) override {
    items.push_back(
        {loss.begin_ns, loss.stream_class, loss.stream, loss.tid,
         "packets " + std::to_string(loss.begin_ns) + " " + loss.reason});
  }
  void OnThreadRecords(const EventRecord& head,
                       std::span<const ThreadRecord> records) override {
    CHECK(!records.empty());
    runs += records.size() > 1 ? 1 : 0;
    ItemSink::OnThreadRecords(head, records);
  }

  // By thread, and by stream for CPU streams.
  std::map<std::pair<StreamClass, std::int64_t>, std::vector<std::string>>
  Sequences() const {
    std::map<std::pair<StreamClass, std::int64_t>, std::vector<std::string>>
        out;
    for (const Item& item : items) {
      const std::int64_t who = item.stream_class == StreamClass::kThread
                                   ? item.tid
                                   : std::int64_t{item.stream};
      out[{item.stream_class, who}].push_back(item.text);
    }
    return out;
  }
  // Between two items of CPUs, in any order.
  std::vector<std::multiset<std::string>> Intervals() const {
    std::vector<std::multiset<std::string>> out(1);
    for (const Item& item : items) {
      if (item.stream_class == StreamClass::kCpu) out.emplace_back();
      out.back().insert(item.text);
    }
    return out;
  }

  std::vector<Item> items;
  std::size_t runs = 0;  // of several records

 private:
  bool takes_runs_;
};

TEST_CASE("thread runs: the same items in the order that is promised",
          "[logformat][property]") {
  const auto seed = GENERATE(range(0u, PropertyRuns(24u)));
  CAPTURE(seed);
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  GeneratorOptions options;
  options.records = seed % 4 == 0 ? static_cast<int>(seed) : 20'000;
  options.losses = seed % 2 == 0;
  if (seed % 3 != 0) options.cpus = 1;
  if (seed % 3 != 0) options.threads = 16;
  options.long_pauses = seed % 4 == 1;
  Generate(builder, seed, options);
  if (seed % 3 == 0) {
    builder.Abandon();
  } else {
    builder.Finish();
  }
  auto reader = TraceReader::Open(temp / "t");
  REQUIRE(reader.ok());
  Transcript merged(/*takes_runs=*/false), runs(/*takes_runs=*/true);
  REQUIRE((*reader)->Read(merged).ok());
  REQUIRE((*reader)->Read(runs).ok());
  CHECK(std::is_sorted(merged.items.begin(), merged.items.end(),
                       [](const Item& a, const Item& b) {
                         return std::tie(a.time_ns, a.stream) <
                                std::tie(b.time_ns, b.stream);
                       }));
  CHECK(merged.items.size() == runs.items.size());
  CHECK(merged.Sequences() == runs.Sequences());
  CHECK(merged.Intervals() == runs.Intervals());
}

TEST_CASE("thread runs: many threads that no CPU's record divides",
          "[logformat]") {
  constexpr std::int32_t kThreads = 100;
  constexpr std::uint64_t kPoints = 1000;
  TempDirectory temp(TempDirectory::Place::kMemory);
  {
    TraceBuilder builder(temp / "t");
    const std::uint32_t hook = builder.AddPoint("p", "h");
    for (std::uint64_t t = 1; t <= kPoints; ++t) {
      for (std::int32_t tid = 1; tid <= kThreads; ++tid) {
        builder.Thread(1, tid).Point(hook,
                                     1000 * t + static_cast<unsigned>(tid));
      }
    }
    builder.Finish();
  }
  auto reader = TraceReader::Open(temp / "t");
  REQUIRE(reader.ok());
  Transcript merged(/*takes_runs=*/false), runs(/*takes_runs=*/true);
  REQUIRE((*reader)->Read(merged).ok());
  REQUIRE((*reader)->Read(runs).ok());
  CHECK(merged.items.size() == kThreads * kPoints);
  CHECK(merged.Sequences() == runs.Sequences());
  CHECK(merged.runs == 0);
  // As few as the packet size and the largest run allow.
  CHECK(runs.runs < kThreads * kPoints / 50);
}

TEST_CASE("thread runs: a stop is one", "[logformat]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  GeneratorOptions options;
  options.records = 60'000;
  Generate(builder, 1, options);
  builder.Finish();
  auto reader = TraceReader::Open(temp / "t");
  REQUIRE(reader.ok());
  Transcript whole(/*takes_runs=*/true), part(/*takes_runs=*/true);
  int calls = 0;
  REQUIRE((*reader)->Read(whole).ok());
  const absl::Status status =
      (*reader)->Read(part, [&](const Progress&) { return ++calls != 2; });
  CHECK(absl::IsCancelled(status));
  CHECK(calls == 2);
  CHECK(part.items.size() < whole.items.size());
}

}  // namespace
}  // namespace countrace::logformat
