// PacketWriter: the records it stores, and the counts if it cannot.
#include "logformat/write/packet_writer.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "logformat/event_schema.h"
#include "logformat/write/flight_stream.h"
#include "tests/logformat/trace_generator.h"
#include "tests/support/trace_builder.h"

namespace countrace::logformat {
namespace {

using test_support::TempDirectory;
using test_support::TraceBuilder;

TEST_CASE(
    "packet_writer: a record that exactly fills a packet opens no new one",
    "[logformat][packet_writer]") {
  const int slack_records = GENERATE(-1, 0, 1);
  CAPTURE(slack_records);
  TempDirectory temp;
  TraceBuilder builder(temp / "t");
  builder.SetPacketBytes(2 * kPacketAlignBytes);
  const std::uint32_t hook = builder.AddPoint("p", "n");
  const std::size_t fits = (2 * kPacketAlignBytes - kPacketHeadBytes) / 8;
  for (std::size_t i = 0; i < fits + slack_records; ++i) {
    REQUIRE(builder.Thread(1, 1).Point(hook, i));
  }
  builder.Finish();
  auto reader = TraceReader::Open(temp / "t");
  REQUIRE(reader.ok());
  CHECK((*reader)->streams()[0].packets == (slack_records > 0 ? 2 : 1));
}

TEST_CASE("packet_writer: time that goes back is clamped and counted",
          "[logformat][packet_writer]") {
  TempDirectory temp;
  TraceBuilder builder(temp / "t");
  const std::uint32_t hook = builder.AddPoint("p", "n");
  auto& stream = builder.Thread(1, 1);
  stream.Point(hook, 100);
  stream.Point(hook, 90);
  stream.Point(hook, 110);
  CHECK(stream.writer().clock_errors() == 1);
  CHECK(stream.writer().records() == 3);
  builder.Finish();
  std::unique_ptr<TraceReader> reader;
  const Collector read = ReadAll(temp / "t", reader);
  REQUIRE(read.records.size() == 3);
  CHECK(read.records[1].time_ns == 100);
}

TEST_CASE("packet_writer: losses of the caller keep their place",
          "[logformat][packet_writer]") {
  // Before the first record, between two, and behind the last.
  const int place = GENERATE(0, 1, 2);
  CAPTURE(place);
  TempDirectory temp;
  TraceBuilder builder(temp / "t");
  const std::uint32_t hook = builder.AddPoint("p", "n");
  auto& stream = builder.Thread(1, 1);
  PacketWriter& writer = stream.writer();
  const auto lose = [&](std::uint64_t begin_ns, std::uint64_t end_ns) {
    REQUIRE(writer.Mark(begin_ns));
    writer.CountDiscarded(DiscardCause::kNoSubBuffer, 5);
    writer.CountLostPackets(3, begin_ns);
    REQUIRE(writer.Mark(end_ns));
  };
  if (place == 0) lose(50, 60);
  stream.Point(hook, 100);
  if (place == 1) lose(150, 160);
  stream.Point(hook, 200);
  if (place == 2) lose(250, 260);
  builder.Finish();
  std::unique_ptr<TraceReader> reader;
  const Collector read = ReadAll(temp / "t", reader);
  CHECK(read.records.size() == 2);
  CHECK(read.discarded[0] == 5);
  CHECK(read.lost_packets == 3);
  REQUIRE(read.event_losses.size() == 1);
  CHECK(read.event_losses[0].begin_ns == 50u + 100u * place);
  CHECK(read.event_losses[0].end_ns == 60u + 100u * place);
}

TEST_CASE("packet_writer: lost packets before the first are a gap",
          "[logformat][packet_writer]") {
  TempDirectory temp;
  TraceBuilder builder(temp / "t");
  const std::uint32_t hook = builder.AddPoint("p", "n");
  auto& stream = builder.Thread(1, 1);
  stream.writer().CountLostPackets(7, 10);
  stream.Point(hook, 100);
  CHECK(stream.writer().packets() == 9);
  builder.Finish();
  std::unique_ptr<TraceReader> reader;
  const Collector read = ReadAll(temp / "t", reader);
  CHECK(read.records.size() == 1);
  CHECK(read.lost_packets == 7);
}

TEST_CASE("packet_writer: a packet may begin and end outside its records",
          "[logformat][packet_writer]") {
  TempDirectory temp;
  TraceBuilder builder(temp / "t");
  const std::uint32_t hook = builder.AddPoint("p", "n");
  auto& stream = builder.Thread(1, 1);
  REQUIRE(stream.writer().BeginPacket(90));
  stream.Point(hook, 100);
  stream.writer().EndPacket(140);
  REQUIRE(stream.writer().BeginPacket(150));
  stream.writer().EndPacket(150);
  stream.writer().CountDiscarded(DiscardCause::kNoSubBuffer, 1);
  stream.Point(hook, 300);
  builder.Finish();
  std::unique_ptr<TraceReader> reader;
  const Collector read = ReadAll(temp / "t", reader);
  REQUIRE(read.event_losses.size() == 1);
  CHECK(read.event_losses[0].begin_ns == 150);
  CHECK(read.event_losses[0].end_ns == 300);
  CHECK(read.lost_packets == 0);
}

TEST_CASE("packet_writer: an existing file is not touched",
          "[logformat][packet_writer]") {
  TempDirectory temp;
  PacketWriterOptions options;
  options.directory = temp.path();
  options.file = "cpu-0";
  const auto first = PacketWriter::Create(options);
  REQUIRE(first.ok());
  CHECK(absl::IsAlreadyExists(PacketWriter::Create(options).status()));
  options.file = "cpu-1";
  options.packet_bytes = 5000;
  CHECK(absl::IsInvalidArgument(PacketWriter::Create(options).status()));
}

// The file size limit replaces a full device: both make the allocation fail.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::uint64_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_CASE("packet_writer: without space records are counted, never a signal",
          "[logformat][packet_writer]") {
  TempDirectory temp;
  TraceBuilder builder(temp / "t");
  builder.SetPacketBytes(2 * kPacketAlignBytes);
  const std::uint32_t hook = builder.AddPoint("p", "n");
  auto& stream = builder.Thread(1, 1);
  const bool from_the_start = GENERATE(true, false);
  CAPTURE(from_the_start);
  std::uint64_t time_ns = 1000, stored = 0, discarded = 0;
  const auto write = [&](int records) {
    for (int i = 0; i < records; ++i) {
      (stream.Point(hook, time_ns += 10) ? stored : discarded) += 1;
    }
  };
  {
    FileSizeLimit limit(from_the_start ? 4096 : 3 * 8192);
    write(10000);
    CHECK(discarded > 0);
    CHECK((stored == 0) == from_the_start);
    CHECK(stream.writer().last_errno() == EFBIG);
  }
  // Space is free again; the writer uses it after a delay.
  const std::uint64_t before = stored;
  write(10);
  CHECK(stored == before);
  time_ns += 200'000'000;
  write(10);
  CHECK(stored == before + 10);
  CHECK(stream.writer().records() == stored);
  CHECK(stream.writer().discarded() == discarded);
  for (const std::uint64_t unplaced : stream.writer().unplaced_discarded()) {
    CHECK(unplaced == 0);
  }
  builder.Finish();
  std::unique_ptr<TraceReader> reader;
  const Collector read = ReadAll(temp / "t", reader);
  CHECK(read.records.size() == stored);
  CHECK(read.packet_losses.empty());
  REQUIRE(read.event_losses.size() == 1);
  CHECK(read.event_losses[0].count == discarded);
  CHECK(read.discarded[static_cast<std::size_t>(DiscardCause::kNoResource)] ==
        discarded);
}

TEST_CASE("packet_writer: what no packet could hold is reported to the owner",
          "[logformat][packet_writer]") {
  TempDirectory temp;
  TraceBuilder builder(temp / "t");
  const std::uint32_t hook = builder.AddPoint("p", "n");
  auto& stream = builder.Thread(1, 1);
  const bool one_packet_fits = GENERATE(false, true);
  {
    FileSizeLimit limit(one_packet_fits ? 4096 : 0);
    for (std::uint64_t i = 1; i <= 7; ++i) CHECK_FALSE(stream.Point(hook, i));
    CHECK(stream.writer().Close().ok());
  }
  CHECK(stream.writer().unplaced_discarded()[static_cast<std::size_t>(
            DiscardCause::kNoResource)] == (one_packet_fits ? 0 : 7));
  CHECK(std::filesystem::file_size(temp / "t/thread-1-1") ==
        (one_packet_fits ? 4096 : 0));
  std::unique_ptr<TraceReader> reader;
  const Collector read = ReadAll(temp / "t", reader);
  CHECK(read.discarded[static_cast<std::size_t>(DiscardCause::kNoResource)] ==
        (one_packet_fits ? 7 : 0));
}

TEST_CASE(
    "flight_stream: each record of an overwritten packet is counted, also one "
    "that ends with a text",
    "[logformat][flight]") {
  TempDirectory temp;
  TraceBuilder builder(temp / "t");
  builder.SetPacketBytes(2 * kPacketAlignBytes);
  const std::uint32_t hook = builder.AddPoint("p", "n", "s");
  constexpr std::uint64_t kRecords = 4000;
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    // Of 1 to 8 bytes with its end, so the content has any length.
    const std::string text(i % 8, 'x');
    REQUIRE(builder.Thread(1, 1).writer().Append(
        static_cast<std::uint16_t>(hook << 1), i,
        std::as_bytes(std::span(text.c_str(), text.size() + 1))));
  }
  builder.Finish();
  std::unique_ptr<TraceReader> reader;
  const Collector whole = ReadAll(temp / "t", reader);
  REQUIRE(whole.records.size() == kRecords);
  const StreamInfo info = reader->streams()[0];
  const RecordTable table(EventClasses(reader->info()), StreamClass::kThread);
  FlightStream stream(temp / "t", {info.file, StreamClass::kThread});
  REQUIRE(stream.FindClosed().ok());
  std::uint64_t dropped = 0;
  while (stream.DropOldest(table).value() != 0) ++dropped;
  REQUIRE(dropped + 8 >= info.packets);
  REQUIRE(stream.Renumber().ok());
  const Collector kept = ReadAll(temp / "t", reader);
  CHECK(kept.records.size() + stream.overwritten_records() == kRecords);
}

}  // namespace
}  // namespace countrace::logformat
