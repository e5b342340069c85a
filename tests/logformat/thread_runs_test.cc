// Reading thread by thread delivers the items of Read(), in the order that it
// promises: those of CPUs and what is lost of them as there, with the same
// items of threads before each, and each thread's own in their order.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "logformat/trace_reader.h"
#include "tests/logformat/trace_generator.h"
#include "tests/support/trace_builder.h"

namespace countrace::logformat {
namespace {

using test_support::TempDirectory;
using test_support::TraceBuilder;

struct Item {
  StreamClass stream_class;
  std::uint32_t stream;
  std::int32_t tid;
  std::string text;
};

class Transcript final : public ItemSink {
 public:
  void OnRecord(const EventRecord& record) override {
    std::string text =
        std::to_string(record.time_ns) + " " + std::to_string(record.event_id) +
        " " + std::to_string(record.mmcr) + " " +
        std::to_string(record.present) + " " +
        std::to_string(record.payload.size()) + " " +
        (record.counters == nullptr ? "-" : std::to_string(record.counters[0]));
    text.append(reinterpret_cast<const char*>(record.bytes.data()),
                record.bytes.size());
    items.push_back({record.stream_class, record.stream, record.tid, text});
  }
  void OnDiscardedEvents(const DiscardedEvents& loss) override {
    items.push_back({loss.stream_class, loss.stream, loss.tid,
                     "events " + std::to_string(loss.begin_ns) + " " +
                         std::to_string(loss.count)});
  }
  void OnDiscardedPackets(const DiscardedPackets& loss) override {
    items.push_back(
        {loss.stream_class, loss.stream, loss.tid,
         "packets " + std::to_string(loss.begin_ns) + " " + loss.reason});
  }
  void OnThreadRecords(const EventRecord& head,
                       std::span<const ThreadRecord> records) override {
    CHECK(!records.empty());
    ++runs;
    ItemSink::OnThreadRecords(head, records);
  }

  // By thread, and by stream for those of CPUs.
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
  std::size_t runs = 0;
};

// Notes what a reader leaves to it, and does nothing.
class Pages final : public PageKeeper {
 public:
  void WillRead(std::span<const std::byte> bytes) override {
    announced += bytes.size();
  }
  void WasRead(std::span<const std::byte> bytes) override {
    given_back += bytes.size();
  }
  std::size_t announced = 0, given_back = 0;
};

TEST_CASE("thread runs: the items of Read() in the order that is promised",
          "[logformat][property]") {
  const auto seed = GENERATE(range(0u, 24u));
  CAPTURE(seed);
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  GeneratorOptions options;
  options.records = seed % 4 == 0 ? static_cast<int>(seed) : 20'000;
  Generate(builder, seed, options);
  if (seed % 3 == 0) {
    builder.Abandon();
  } else {
    builder.Finish();
  }
  auto reader = TraceReader::Open(temp / "t");
  REQUIRE(reader.ok());
  Transcript read, runs, kept;
  Pages pages;
  REQUIRE((*reader)->Read(read).ok());
  REQUIRE((*reader)->ReadThreadRuns(runs).ok());
  REQUIRE((*reader)->ReadThreadRuns(kept, nullptr, nullptr, &pages).ok());
  CHECK(read.items.size() == runs.items.size());
  CHECK(read.Sequences() == runs.Sequences());
  CHECK(read.Intervals() == runs.Intervals());
  CHECK(kept.Sequences() == runs.Sequences());
  if (runs.runs != 0) CHECK(pages.announced != 0);
}

struct Stopper {
  int calls = 0;
  static bool Callback(void* context, std::uint64_t, std::uint64_t) {
    return ++static_cast<Stopper*>(context)->calls != 2;
  }
};

TEST_CASE("thread runs: a stop is one", "[logformat]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  GeneratorOptions options;
  options.records = 60'000;
  Generate(builder, 1, options);
  builder.Finish();
  auto reader = TraceReader::Open(temp / "t");
  REQUIRE(reader.ok());
  Transcript whole, part;
  Stopper stopper;
  REQUIRE((*reader)->ReadThreadRuns(whole).ok());
  const absl::Status status =
      (*reader)->ReadThreadRuns(part, Stopper::Callback, &stopper);
  CHECK(absl::IsCancelled(status));
  CHECK(stopper.calls == 2);
  CHECK(part.items.size() < whole.items.size());
}

}  // namespace
}  // namespace countrace::logformat
