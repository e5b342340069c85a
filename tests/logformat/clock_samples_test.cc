// ReadClockSamples: what was stored is read, from a trace in any state; damage
// is found.
#include "logformat/read/clock_samples.h"

#include <sys/timex.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "logformat/repair/trace_snapshot.h"
#include "logformat/repair/trace_verify.h"
#include "tests/logformat/directory_bytes.h"
#include "tests/support/property_runs.h"
#include "tests/support/trace_builder.h"

namespace countrace::logformat {
namespace {

using Catch::Matchers::Contains;
using test_support::PropertyRuns;
using test_support::TempDirectory;
using test_support::TraceBuilder;

constexpr std::size_t kPacketBytes = 2 * kPacketAlignBytes;  // 100 samples

// Each field has another value in each sample.
ClockSample Sample(std::uint64_t i) {
  ClockSample sample;
  sample.monotonic_ns = 1000 + i * 10'000'000'000;
  sample.header = HeaderWord(kClockSampleEvent, sample.monotonic_ns);
  sample.width_ns = 80 + i;
  sample.realtime_ns = 1'700'000'000'000'000'000 + sample.monotonic_ns;
  sample.tai_ns = sample.realtime_ns + 37'000'000'000;
  sample.raw = 3 * sample.monotonic_ns;
  sample.offset_ns = -static_cast<std::int64_t>(i);
  sample.frequency = static_cast<std::int64_t>(i) - 65536;
  sample.max_error_us = 1200 + i;
  sample.estimated_error_us = 15 + i;
  sample.status = STA_PLL | STA_NANO;
  sample.state = TIME_OK;
  return sample;
}

bool Same(const ClockSample& a, const ClockSample& b) {
  const ClockRecord &of_a = a, &of_b = b;
  return a.monotonic_ns == b.monotonic_ns &&
         std::memcmp(&of_a, &of_b, sizeof(of_a)) == 0;
}

// A trace with one record of a thread, beside which a recorder stores samples.
class SampledTrace {
 public:
  explicit SampledTrace(std::uint64_t samples) : builder_(path_) {
    const std::uint32_t hook = builder_.AddPoint("p", "n", "u", 7);
    builder_.Thread(1, 1).Point(hook, 2000, {std::uint64_t{5}});
    PacketWriterOptions options;
    options.directory = path_;
    options.file = kClockStream;
    options.stream_class = StreamClass::kClock;
    std::memcpy(options.uuid.data(), builder_.session().uuid,
                options.uuid.size());
    options.packet_bytes = kPacketBytes;
    writer_ = *PacketWriter::Create(options);
    for (std::uint64_t i = 0; i < samples; ++i) {
      const ClockRecord record = Sample(i);
      REQUIRE(writer_->Append(
          kClockSampleEvent, Sample(i).monotonic_ns,
          std::as_bytes(std::span(&record, 1)).subspan(sizeof(record.header))));
    }
  }
  const std::string& path() const { return path_; }
  PacketWriter& writer() { return *writer_; }
  FinishResult Finish() {
    writer_.reset();
    return builder_.Finish();
  }
  void Kill() {
    writer_->Abandon();
    builder_.Abandon();
  }

 private:
  TempDirectory temp_{TempDirectory::Place::kMemory};
  std::string path_ = temp_ / "t";
  TraceBuilder builder_;
  std::unique_ptr<PacketWriter> writer_;
};

class Counter final : public ItemSink {
 public:
  void OnRecord(const EventRecord& record) override {
    CHECK(record.stream_class != StreamClass::kClock);
    ++records;
  }
  void OnDiscardedEvents(const DiscardedEvents&) override { ++losses; }
  void OnDiscardedPackets(const DiscardedPackets&) override { ++losses; }
  int records = 0, losses = 0;
};

std::unique_ptr<TraceReader> Open(const std::string& path) {
  auto reader = TraceReader::Open(path);
  INFO(reader.status());
  REQUIRE(reader.ok());
  return *std::move(reader);
}

void CheckSamples(const std::string& path, std::uint64_t count) {
  const auto reader = Open(path);
  CHECK(reader->messages().empty());
  const auto clocks = ReadClockSamples(*reader);
  INFO(clocks.status());
  REQUIRE(clocks.ok());
  CHECK(clocks->damage.empty());
  REQUIRE(clocks->samples.size() == count);
  for (std::uint64_t i = 0; i < count; ++i) {
    CAPTURE(i);
    CHECK(Same(clocks->samples[i], Sample(i)));
  }
  Counter counter;
  REQUIRE(reader->Read(counter).ok());
  CHECK(counter.records == 1);
  CHECK(counter.losses == 0);
}

TEST_CASE("clock_samples: what is written is read, beside the records",
          "[logformat][clock_samples]") {
  const std::uint64_t count = GENERATE(1, 2, 100, 101, 250);
  CAPTURE(count);
  SampledTrace trace(count);
  const FinishResult result = trace.Finish();
  CHECK(result.streams == 1);
  CHECK(result.records == 1);
  CHECK(result.messages.empty());
  CheckSamples(trace.path(), count);
  CHECK(Open(trace.path())->info().clock_packets == (count + 99) / 100);
  const auto verified = VerifyTrace(trace.path());
  REQUIRE(verified.ok());
  CHECK(verified->ok);
  CHECK(verified->findings.empty());
}

TEST_CASE("clock_samples: those of a killed recorder are read and recovered",
          "[logformat][clock_samples]") {
  const std::uint64_t count = GENERATE(1, 99, 100, 101, 250);
  CAPTURE(count);
  SampledTrace trace(count);
  trace.Kill();
  CheckSamples(trace.path(), count);
  REQUIRE(FinishTrace(trace.path(), {}).ok());
  CheckSamples(trace.path(), count);
  CHECK(VerifyTrace(trace.path())->ok);
}

TEST_CASE("clock_samples: a snapshot has those so far, and the host's ids",
          "[logformat][clock_samples]") {
  SampledTrace trace(150);
  std::ofstream(trace.path() + "/" + kHostFile) << "0123abcd\tcafe\n";
  const std::string copy = trace.path() + "-copy";
  REQUIRE(SnapshotTrace(trace.path(), copy, {}).ok());
  CheckSamples(copy, 150);
  CHECK(VerifyTrace(copy)->ok);
  const auto info = Open(copy)->info();
  CHECK(info.machine_hash == "0123abcd");
  CHECK(info.container == "cafe");
  CHECK(ReadDirectory(copy).count(kHostFile) == 0);
}

TEST_CASE("clock_samples: a trace without them has none",
          "[logformat][clock_samples]") {
  TempDirectory temp;
  TraceBuilder builder(temp / "t");
  builder.Finish();
  const auto reader = Open(temp / "t");
  CHECK_FALSE(reader->info().clock_packets);
  CHECK(ReadClockSamples(*reader)->samples.empty());
  CHECK(ReadDirectory(temp / "t")["metadata"].find("clock_sample") ==
        std::string::npos);
}

TEST_CASE("clock_samples: a stream that is gone is named",
          "[logformat][clock_samples]") {
  SampledTrace trace(101);
  trace.Finish();
  REQUIRE(unlink((trace.path() + "/" + kClockStream).c_str()) == 0);
  const auto reader = Open(trace.path());
  CHECK(ReadClockSamples(*reader)->samples.empty());
  REQUIRE(reader->messages().size() == 1);
  CHECK_THAT(reader->messages()[0], Contains("stream file clock is gone, and "
                                             "with it the records of 2 packet"
                                             "s"));
}

TEST_CASE("clock_samples: samples without room are counted",
          "[logformat][clock_samples]") {
  SampledTrace trace(3);
  trace.writer().CountDiscarded(DiscardCause::kDiskFull, 4);
  trace.Finish();
  const auto clocks = ReadClockSamples(*Open(trace.path()));
  CHECK(clocks->samples.size() == 3);
  REQUIRE(clocks->damage.size() == 1);
  CHECK_THAT(clocks->damage[0], Contains("without room: 4"));
}

// What is left of the samples in `files`, and whether damage is named.
struct Left {
  std::vector<ClockSample> samples;
  bool damaged = false;
};
Left ReadDamaged(const DirectoryBytes& files) {
  TempDirectory temp(TempDirectory::Place::kMemory);
  WriteDirectory(temp / "t", files);
  const auto reader = Open(temp / "t");
  auto clocks = ReadClockSamples(*reader);
  if (!clocks.ok()) return {{}, true};
  CHECK(VerifyTrace(temp / "t")->ok ==
        (clocks->damage.empty() && reader->messages().empty()));
  return {std::move(clocks->samples), !clocks->damage.empty()};
}

TEST_CASE("clock_samples: each cut is found, and what is before it is read",
          "[logformat][clock_samples][property]") {
  SampledTrace trace(250);
  trace.Finish();
  DirectoryBytes files = ReadDirectory(trace.path());
  const std::string whole = files[kClockStream];
  std::mt19937 random(1);
  for (int i = 0; i < PropertyRuns(200); ++i) {
    const std::size_t bytes =
        i < 3 ? kPacketAlignBytes * i : random() % whole.size();
    CAPTURE(bytes);
    files[kClockStream] = whole.substr(0, bytes);
    const Left left = ReadDamaged(files);
    CHECK(left.damaged);
    REQUIRE(left.samples.size() <= 250);
    for (std::size_t at = 0; at < left.samples.size(); ++at) {
      CHECK(Same(left.samples[at], Sample(at)));
    }
  }
}

TEST_CASE("clock_samples: each flipped bit is found, and costs its packet",
          "[logformat][clock_samples][property]") {
  SampledTrace trace(250);
  trace.Finish();
  DirectoryBytes files = ReadDirectory(trace.path());
  std::string& stream = files[kClockStream];
  constexpr std::size_t kContent = kPacketHeadBytes + 100 * sizeof(ClockRecord);
  std::mt19937 random(2);
  for (int i = 0; i < PropertyRuns(200); ++i) {
    const std::size_t byte = random() % 2 * kPacketBytes + random() % kContent;
    const char flip = static_cast<char>(1 << random() % 8);
    CAPTURE(byte, int{flip});
    stream[byte] = static_cast<char>(stream[byte] ^ flip);
    const Left left = ReadDamaged(files);
    stream[byte] = static_cast<char>(stream[byte] ^ flip);
    CHECK(left.damaged);
    REQUIRE(left.samples.size() <= 150);
    for (const ClockSample& sample : left.samples) {
      CHECK(Same(sample, Sample(sample.monotonic_ns / 10'000'000'000)));
    }
  }
}

TEST_CASE("clock_samples: synchronised is what adjtimex says",
          "[logformat][clock_samples]") {
  ClockSample sample = Sample(0);
  CHECK(sample.synchronised());
  CHECK(sample.realtime_offset_ns() == 1'700'000'000'000'000'000);
  sample.status |= STA_UNSYNC;
  CHECK_FALSE(sample.synchronised());
  sample.status = 0;
  sample.state = TIME_ERROR;
  CHECK_FALSE(sample.synchronised());
  sample.state = -1;
  CHECK_FALSE(sample.synchronised());
}

}  // namespace
}  // namespace countrace::logformat
