// Reading with two threads delivers what reading with one does.
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "logformat/read/read_ahead.h"
#include "tests/logformat/trace_generator.h"
#include "tests/support/trace_builder.h"

namespace countrace::logformat {
namespace {

using test_support::TempDirectory;
using test_support::TraceBuilder;

// Every field of every item, in the order of delivery.
class Transcript final : public ItemSink {
 public:
  void OnRecord(const EventRecord& record) override {
    Add("record", record.time_ns, record.stream, record.event_id, record.cpu,
        record.pid, record.tid, record.mmcr, record.present,
        record.counters == nullptr ? 0 : record.counters[0],
        record.payload.size());
    items.back().append(reinterpret_cast<const char*>(record.bytes.data()),
                        record.bytes.size());
  }
  void OnDiscardedEvents(const DiscardedEvents& loss) override {
    Add("events", loss.stream, loss.cpu, loss.pid, loss.tid, loss.begin_ns,
        loss.end_ns, loss.count, loss.by_cause[0], loss.by_cause[1]);
  }
  void OnDiscardedPackets(const DiscardedPackets& loss) override {
    Add("packets", loss.stream, loss.cpu, loss.pid, loss.tid, loss.begin_ns,
        loss.end_ns, loss.packets);
    items.back() += loss.reason;
  }

  std::vector<std::string> items;

 private:
  template <typename... Value>
  void Add(const char* kind, const Value&... values) {
    items.emplace_back(kind);
    ((items.back() += " " + std::to_string(values)), ...);
  }
};

std::unique_ptr<TraceReader> Generated(const TempDirectory& temp,
                                       std::uint32_t seed, int records) {
  TraceBuilder builder(temp / "t");
  GeneratorOptions options;
  options.records = records;
  Generate(builder, seed, options);
  if (seed % 3 == 0) {
    builder.Abandon();
  } else {
    builder.Finish();
  }
  auto reader = TraceReader::Open(temp / "t");
  REQUIRE(reader.ok());
  return *std::move(reader);
}

TEST_CASE("read_ahead: the same items in the same order",
          "[logformat][property]") {
  const auto seed = GENERATE(range(0u, 40u));
  CAPTURE(seed);
  TempDirectory temp(TempDirectory::Place::kMemory);
  // Fewer than a batch, and many.
  const auto reader =
      Generated(temp, seed, seed % 4 == 0 ? static_cast<int>(seed) : 20'000);
  REQUIRE(reader->keeps_records());
  Transcript read, ahead;
  REQUIRE(reader->Read(read).ok());
  REQUIRE(ReadAhead(*reader, ahead).ok());
  CHECK(read.items.size() == ahead.items.size());
  CHECK(read.items == ahead.items);
}

struct Stopper {
  int calls = 0, stop_at = 0;
  static bool Callback(void* context, std::uint64_t done, std::uint64_t total) {
    auto* stopper = static_cast<Stopper*>(context);
    CHECK(done <= total);
    return ++stopper->calls != stopper->stop_at;
  }
};

TEST_CASE("read_ahead: the end is told, and a stop is one", "[logformat]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  const auto reader = Generated(temp, 1, 60'000);
  Transcript whole, part;
  Stopper never;
  REQUIRE(ReadAhead(*reader, whole, Stopper::Callback, &never).ok());
  CHECK(never.calls > 0);
  Stopper early{.stop_at = 1};
  const absl::Status status =
      ReadAhead(*reader, part, Stopper::Callback, &early);
  CHECK(absl::IsCancelled(status));
  REQUIRE(part.items.size() <= whole.items.size());
  whole.items.resize(part.items.size());
  CHECK(part.items == whole.items);
}

// A reader that makes its records while it is asked cannot be read ahead.
class Fleeting final : public TraceReader {
 public:
  const TraceInfo& info() const override { return info_; }
  const std::vector<StreamInfo>& streams() const override { return streams_; }
  absl::Status Read(ItemSink& sink, ProgressCallback, void*) override {
    EventRecord record{};
    for (record.time_ns = 1; record.time_ns < 5000; ++record.time_ns) {
      std::byte bytes[8];
      std::memcpy(bytes, &record.time_ns, sizeof(bytes));
      record.bytes = bytes;
      sink.OnRecord(record);
    }
    return absl::OkStatus();
  }
  std::array<std::uint64_t, kDiscardCauses> session_discarded() const override {
    return {};
  }
  std::uint32_t session_last_errno() const override { return 0; }
  std::uint32_t late_sub_buffers() const override { return 0; }
  const std::vector<std::string>& messages() const override {
    return messages_;
  }

 private:
  TraceInfo info_;
  std::vector<StreamInfo> streams_;
  std::vector<std::string> messages_;
};

TEST_CASE("read_ahead: records that do not stay are read at once",
          "[logformat]") {
  Fleeting reader;
  Transcript read, ahead;
  REQUIRE(reader.Read(read, nullptr, nullptr).ok());
  REQUIRE(ReadAhead(reader, ahead).ok());
  CHECK(read.items == ahead.items);
}

}  // namespace
}  // namespace countrace::logformat
