// What heads tell of a whole trace, against its files byte by byte and against
// what a reader delivers: sound, lossy, cut and killed.
#include "viewer/index/open/recorded_bytes.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "logformat/packet_checksum.h"
#include "tests/logformat/trace_generator.h"
#include "tests/support/trace_builder.h"
#include "viewer/index/file/overview_columns.h"

namespace countrace::viewer {
namespace {

using logformat::PacketHead;
using logformat::StreamClass;
using test_support::TempDirectory;
using test_support::TraceBuilder;

std::unique_ptr<logformat::TraceReader> Open(const std::string& path) {
  auto reader = logformat::TraceReader::Open(path);
  INFO(reader.status().ToString());
  REQUIRE(reader.ok());
  return *std::move(reader);
}

// The heads in the files of a finished trace, one behind the other.
std::vector<PacketHead> HeadsIn(const logformat::TraceReader& reader) {
  std::vector<PacketHead> heads;
  for (const logformat::StreamInfo& stream : reader.streams()) {
    std::ifstream file(reader.directory() + "/" + stream.file,
                       std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    for (std::size_t at = 0; at < bytes.size();
         at += heads.back().packet_bits / 8) {
      std::memcpy(&heads.emplace_back(), &bytes[at], sizeof(PacketHead));
    }
  }
  return heads;
}

// Each byte of a packet for itself: of n bytes, byte i is complete when
// (i + 1) / n of the packet's time is over.
RecordedBytes ByBytes(const std::vector<PacketHead>& heads,
                      const TraceSpan& span) {
  RecordedBytes truth{.span = span,
                      .cpus = std::vector<std::uint64_t>(kOverviewColumns),
                      .threads = std::vector<std::uint64_t>(kOverviewColumns),
                      .lost = {}};
  for (const PacketHead& head : heads) {
    const std::uint64_t bytes = logformat::CheckedRecordBytes(head);
    const std::uint64_t length_ns = head.end_ns - head.begin_ns;
    // Whether byte `i` is complete at `time_ns`.
    const auto is_complete = [&](std::uint64_t i, std::uint64_t time_ns) {
      if (time_ns <= head.begin_ns) return false;
      return (i + 1) * length_ns <= bytes * (time_ns - head.begin_ns);
    };
    auto& columns = head.cpu >= 0 ? truth.cpus : truth.threads;
    std::uint32_t column = 0;
    for (std::uint64_t i = 0; i < bytes; ++i) {
      if (is_complete(i, span.begin_ns)) continue;
      while (column + 1 < kOverviewColumns &&
             !is_complete(i, span.begin_ns + OverviewBoundary(span.duration_ns,
                                                              column + 1))) {
        ++column;
      }
      ++columns[column];
    }
  }
  return truth;
}

// What a reader delivers: bytes of records by kind of stream, and losses.
class Delivered final : public logformat::ItemSink {
 public:
  explicit Delivered(logformat::TraceReader& reader) {
    REQUIRE(reader.Read(*this).ok());
  }
  void OnRecord(const logformat::EventRecord& record) override {
    (record.stream_class == StreamClass::kCpu ? cpu_bytes : thread_bytes) +=
        record.bytes.size();
  }
  void OnDiscardedEvents(const logformat::DiscardedEvents& loss) override {
    losses.push_back({loss.begin_ns, loss.end_ns});
  }
  void OnDiscardedPackets(const logformat::DiscardedPackets& loss) override {
    losses.push_back({loss.begin_ns, loss.end_ns});
  }
  // Columns of `span` that a loss touches.
  std::vector<std::uint8_t> LostIn(const TraceSpan& span) const {
    std::vector<std::uint8_t> lost;
    for (std::uint32_t column = 0; column < kOverviewColumns; ++column) {
      const std::uint64_t from_ns =
          span.begin_ns + OverviewBoundary(span.duration_ns, column);
      const std::uint64_t until_ns =
          column + 1 == kOverviewColumns
              ? ~std::uint64_t{0}
              : span.begin_ns + OverviewBoundary(span.duration_ns, column + 1);
      lost.push_back(
          std::ranges::any_of(losses, [&](const logformat::TimeSpan& loss) {
            return loss.from_ns < until_ns && loss.until_ns >= from_ns;
          }));
    }
    return lost;
  }

  std::uint64_t cpu_bytes = 0, thread_bytes = 0;
  std::vector<logformat::TimeSpan> losses;
};

std::uint64_t SumOf(const std::vector<std::uint64_t>& columns) {
  return std::accumulate(columns.begin(), columns.end(), std::uint64_t{0});
}

std::uint64_t FirstNs(const std::vector<PacketHead>& heads) {
  return std::ranges::min_element(heads, {}, &PacketHead::begin_ns)->begin_ns;
}

// All that is delivered is in the columns, and every loss marks its own.
void CheckDelivered(logformat::TraceReader& reader, std::uint64_t begin_ns) {
  const RecordedBytes recorded = RecordedFrom(reader, begin_ns);
  const Delivered delivered(reader);
  CHECK(SumOf(recorded.cpus) == delivered.cpu_bytes);
  CHECK(SumOf(recorded.threads) == delivered.thread_bytes);
  CHECK(recorded.lost == delivered.LostIn(recorded.span));
}

TEST_CASE("recorded_bytes: each byte of a packet is in the column of its time",
          "[viewer]") {
  const auto seed = GENERATE(1u, 2u, 3u, 4u, 5u, 6u);
  CAPTURE(seed);
  const TempDirectory directory(TempDirectory::Place::kMemory);
  TraceBuilder builder(directory / "a.ctf");
  logformat::Generate(builder, seed, {.long_pauses = false});
  builder.Finish();
  const auto reader = Open(directory / "a.ctf");
  const std::vector<PacketHead> heads = HeadsIn(*reader);
  REQUIRE(heads.size() > 10);
  const std::uint64_t first_ns = FirstNs(heads);
  CheckDelivered(*reader, first_ns);
  for (const std::uint64_t begin_ns :
       {first_ns, first_ns + (reader->end_ns() - first_ns) / 3}) {
    const RecordedBytes recorded = RecordedFrom(*reader, begin_ns);
    CHECK(recorded.span.begin_ns == begin_ns);
    CHECK(recorded.span.begin_ns + recorded.span.duration_ns ==
          reader->end_ns());
    const RecordedBytes truth = ByBytes(heads, recorded.span);
    CHECK(recorded.cpus == truth.cpus);
    CHECK(recorded.threads == truth.threads);
  }
}

TEST_CASE("recorded_bytes: lost events and packets mark their time",
          "[viewer]") {
  const TempDirectory directory(TempDirectory::Place::kMemory);
  TraceBuilder builder(directory / "a.ctf");
  builder.SetPacketBytes(8192);
  for (std::uint64_t time_ns = 1000; time_ns < 1'001'000; time_ns += 1000) {
    if (time_ns == 250'000) {
      builder.Cpu(0).writer().CountDiscarded(
          logformat::DiscardCause::kKernelRingFull, 7);
    }
    if (time_ns == 750'000)
      builder.Cpu(0).writer().CountLostPackets(2, time_ns);
    builder.Cpu(0).Wakeup(time_ns, 1, 2, 0);
  }
  builder.Finish();
  const auto reader = Open(directory / "a.ctf");
  CheckDelivered(*reader, 1000);
  const RecordedBytes recorded = RecordedFrom(*reader, 1000);
  const auto is_lost = [&recorded](std::uint64_t time_ns) {
    return recorded.lost[OverviewColumnAt(recorded.span.duration_ns,
                                          time_ns - 1000)] != 0;
  };
  CHECK(is_lost(249'500));
  CHECK(is_lost(749'500));
  for (const std::uint64_t time_ns :
       {1000, 248'000, 252'000, 500'000, 748'000, 752'000, 1'000'000}) {
    CAPTURE(time_ns);
    CHECK_FALSE(is_lost(time_ns));
  }
}

TEST_CASE("recorded_bytes: of a cut and of a killed trace what is left of it",
          "[viewer]") {
  const auto seed = GENERATE(1u, 2u, 3u, 4u);
  const bool killed = GENERATE(false, true);
  CAPTURE(seed, killed);
  const TempDirectory directory(TempDirectory::Place::kMemory);
  TraceBuilder builder(directory / "a.ctf");
  logformat::Generate(builder, seed, {.long_pauses = false});
  if (killed) {
    builder.Abandon();
  } else {
    builder.Finish();
    const std::string stream = directory / "a.ctf/cpu-0";
    std::filesystem::resize_file(
        stream, std::filesystem::file_size(stream) * 3 / 5 + seed * 100);
  }
  const auto reader = Open(directory / "a.ctf");
  if (!killed) CHECK_FALSE(Delivered(*reader).losses.empty());
  // From before the first packet on.
  std::uint64_t first_ns = reader->end_ns();
  reader->VisitPackets([&](const logformat::PacketExtent& packet) {
    first_ns = std::min(first_ns, packet.time.from_ns);
  });
  CheckDelivered(*reader, first_ns);
}

}  // namespace
}  // namespace countrace::viewer
