// Damaged input, and traces of other tools: an error or a counted loss, never a
// crash, never a different number of records without a message.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/posix/file_mapping.h"
#include "logformat/description/recorded_part.h"
#include "logformat/description/trace_directory.h"
#include "logformat/event_schema.h"
#include "logformat/read/packet_scanner.h"
#include "logformat/read/record_table.h"
#include "logformat/repair/trace_finish.h"
#include "logformat/repair/trace_verify.h"
#include "tests/logformat/directory_bytes.h"
#include "tests/logformat/trace_generator.h"
#include "tests/support/property_runs.h"
#include "tests/support/trace_builder.h"

namespace countrace::logformat {
namespace {

using test_support::PropertyRuns;
using test_support::TempDirectory;
using test_support::TraceBuilder;

// A finished trace with several packets in each stream, and its content.
struct SoundTrace {
  SoundTrace(const std::string& path, std::uint32_t seed) {
    TraceBuilder builder(path);
    written =
        Generate(builder, seed, {.cpus = 1, .threads = 2, .records = 1500});
    builder.Finish();
    files = ReadDirectory(path);
  }
  GeneratedTrace written;
  DirectoryBytes files;
};

// Damage has one of three results: no effect, an error, or a reported loss.
void CheckDamage(const std::string& path, std::size_t sound_records) {
  const auto verified = VerifyTrace(path);
  auto reader = TraceReader::Open(path);
  if (!reader.ok()) {
    CHECK_FALSE(std::string(reader.status().message()).empty());
    CHECK((!verified.ok() || !verified->ok));
    return;
  }
  Collector read(**reader);
  REQUIRE((*reader)->Read(read).ok());
  REQUIRE(verified.ok());
  if (read.records.size() != sound_records) {
    CHECK(!read.packet_losses.empty());
    CHECK(!verified->findings.empty());
  }
  for (std::size_t i = 1; i < read.records.size(); ++i) {
    REQUIRE(read.records[i - 1].time_ns <= read.records[i].time_ns);
  }
  // Finishing keeps the records that reading found.
  const auto finished = FinishTrace(path, {});
  INFO(finished.status());
  REQUIRE(finished.ok());
  auto again = TraceReader::Open(path);
  REQUIRE(again.ok());
  Collector after(**again);
  REQUIRE((*again)->Read(after).ok());
  CHECK(after.records.size() == read.records.size());
  CHECK(after.lost_packets == read.lost_packets);
  for (const DiscardedPackets& loss : after.packet_losses) {
    CHECK(loss.packets > 0);  // everything else was repaired
  }
}

TEST_CASE("damage: a stream cut at any byte", "[logformat][damage]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  const SoundTrace sound(temp / "t", 1);
  const std::string name = GENERATE("cpu-0", "thread-100-0");
  const std::string& stream = sound.files.at(name);
  const std::string path = temp / "t";
  // Denser in the heads and at the end; every page boundary.
  std::vector<std::size_t> cuts;
  for (std::size_t bytes = 0; bytes < stream.size(); ++bytes) {
    const bool dense = bytes < 400 || stream.size() - bytes < 300 ||
                       (bytes > 8000 && bytes < 8500);
    if (bytes % (dense ? 13 : 1021) != 0 && bytes % 4096 != 0) continue;
    cuts.push_back(bytes);
  }
  const std::size_t every = cuts.size() / PropertyRuns(cuts.size());
  for (std::size_t i = 0; i < cuts.size(); i += every) {
    const std::size_t bytes = cuts[i];
    CAPTURE(name, bytes);
    DirectoryBytes files = sound.files;
    files[name].resize(bytes);
    WriteDirectory(path, files);
    CheckDamage(path, sound.written.records.size());
  }
}

TEST_CASE("damage: bit flips in streams", "[logformat][damage]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  const auto seed = GENERATE(range(2u, 5u));
  const SoundTrace sound(temp / "t", seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 80; ++round) {
    DirectoryBytes files = sound.files;
    std::string& stream = files[round % 2 == 0 ? "cpu-0" : "thread-100-1"];
    // Half of them in heads, where small damage has large effects.
    const std::size_t packet = random() % (stream.size() / 4096) * 4096;
    const std::size_t at =
        packet + random() % (round % 4 < 2 ? kPacketHeadBytes : 4096);
    const int bit = static_cast<int>(random() % 8);
    stream[at] = static_cast<char>(stream[at] ^ (1 << bit));
    CAPTURE(seed, round, at, bit);
    WriteDirectory(temp / "t", files);
    CheckDamage(temp / "t", sound.written.records.size());
  }
}

TEST_CASE("damage: a changed bit in a packet costs that packet, no more",
          "[logformat][damage]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  const SoundTrace sound(temp / "t", 5);
  std::mt19937 random(5);
  for (int round = 0; round < PropertyRuns(120); ++round) {
    DirectoryBytes files = sound.files;
    std::string& stream = files[round % 2 == 0 ? "cpu-0" : "thread-100-1"];
    std::vector<std::size_t> packets;
    PacketHead head;
    for (std::size_t at = 0; at < stream.size(); at += head.packet_bits / 8) {
      packets.push_back(at);
      std::memcpy(&head, stream.data() + at, sizeof(head));
    }
    const std::size_t packet = packets[random() % packets.size()];
    std::memcpy(&head, stream.data() + packet, sizeof(head));
    const std::size_t content = head.content_bits / 8;
    const std::size_t most_records = head.packet_bits / 64;
    const std::size_t at =
        packet + random() % (round % 4 < 2 ? kPacketHeadBytes : content);
    stream[at] = static_cast<char>(stream[at] ^ (1 << random() % 8));
    std::memcpy(&head, stream.data() + packet, sizeof(head));
    if (head.content_bits == 0) continue;  // open: it has no checksum
    CAPTURE(round, packet, at - packet);
    WriteDirectory(temp / "t", files);
    auto reader = TraceReader::Open(temp / "t");
    REQUIRE(reader.ok());
    Collector read(**reader);
    REQUIRE((*reader)->Read(read).ok());
    CHECK(read.lost_packets == 1);
    CHECK(read.records.size() < sound.written.records.size());
    CHECK(read.records.size() + most_records > sound.written.records.size());
    const auto verified = VerifyTrace(temp / "t");
    CHECK((verified.ok() && !verified->ok));
    CHECK(verified->records == read.records.size());
    CheckDamage(temp / "t", sound.written.records.size());
  }
}

TEST_CASE("damage: a copy of a stream is refused, by the names of both",
          "[logformat][damage]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  const SoundTrace sound(temp / "t", 6);
  DirectoryBytes files = sound.files;
  const std::string name = GENERATE("thread-100-77", "cpu-7", "thread-1-1");
  const std::string from = name == "cpu-7" ? "cpu-0" : "thread-100-1";
  files[name] = files[from];
  // A part of it is enough.
  if (name == "thread-1-1") files[name].erase(0, 4096);
  WriteDirectory(temp / "t", files);
  const absl::Status status = TraceReader::Open(temp / "t").status();
  CHECK(status.code() == absl::StatusCode::kDataLoss);
  const std::string message(status.message());
  CAPTURE(message);
  CHECK(message.find(from) != std::string::npos);
  CHECK(message.find(name) != std::string::npos);
  const auto verified = VerifyTrace(temp / "t");
  CHECK((verified.ok() && !verified->ok));
  // recover keeps the one that was there when the trace was finished.
  const auto finished = FinishTrace(temp / "t", {});
  REQUIRE(finished.ok());
  CHECK(finished->failed == 1);
  DirectoryBytes after = ReadDirectory(temp / "t");
  CHECK(after.count(name) == 0);
  CHECK(after.at(from) == sound.files.at(from));
  CHECK(VerifyTrace(temp / "t")->ok);
}

TEST_CASE("damage: many wrong bytes at once", "[logformat][damage]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  const SoundTrace sound(temp / "t", 7);
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    DirectoryBytes files = sound.files;
    for (int n = 0; n < 20; ++n) {
      std::string& stream = files[n % 2 == 0 ? "cpu-0" : "thread-100-1"];
      stream[random() % stream.size()] = static_cast<char>(random());
    }
    CAPTURE(round);
    WriteDirectory(temp / "t", files);
    CheckDamage(temp / "t", sound.written.records.size());
  }
}

TEST_CASE("damage: metadata cut or changed anywhere", "[logformat][damage]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  const SoundTrace sound(temp / "t", 8);
  const std::string& text = sound.files.at(kMetadataFile);
  std::mt19937 random(8);
  for (std::size_t at = 0; at + 3 < text.size(); at += 131) {
    CAPTURE(at);
    DirectoryBytes files = sound.files;
    files[kMetadataFile].resize(at);
    WriteDirectory(temp / "t", files);
    CHECK_FALSE(TraceReader::Open(temp / "t").ok());
    CHECK_FALSE(FinishTrace(temp / "t", {}).ok());
    files[kMetadataFile] = text;
    files[kMetadataFile][at] =
        static_cast<char>(text[at] ^ (1 << random() % 7));
    WriteDirectory(temp / "t", files);
    const auto verified = VerifyTrace(temp / "t");
    CHECK((!verified.ok() || !verified->ok));
    CheckDamage(temp / "t", sound.written.records.size());
  }
}

TEST_CASE("foreign: what is not a trace of ours is refused with a reason",
          "[logformat][damage]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  const std::string path = temp / "x";
  const auto open_message = [&] {
    const absl::Status status = TraceReader::Open(path).status();
    CHECK(status.code() == FinishTrace(path, {}).status().code());
    return std::string(absl::StatusCodeToString(status.code())) + ": " +
           std::string(status.message());
  };
  std::string expected;
  SECTION("nothing") { expected = "NOT_FOUND: There is no trace"; }
  SECTION("an empty directory") {
    WriteDirectory(path, {});
    expected = "it holds 0 files, but neither metadata nor .session";
  }
  SECTION("a file") {
    std::ofstream(path) << "hello";
    expected = "INVALID_ARGUMENT: " + path + " is a file, not a trace";
  }
  SECTION("a perf.data file") {
    std::ofstream(path) << "PERFILE2xxxxxxxx";
    expected = "is a perf.data file";
  }
  SECTION("a stream file") {
    std::ofstream(path) << "\xC1\x1F\xFC\xC1....";
    expected = "is a single stream file";
  }
  SECTION("a trace of LTTng") {
    WriteDirectory(path, {{"metadata",
                           "/* CTF 1.8 */\ntrace { major = 1; minor = 8; };\n"
                           "env { tracer_name = \"lttng-ust\"; };\n"}});
    expected = "is a CTF trace of tracer 'lttng-ust'";
  }
  SECTION("packet-based metadata") {
    WriteDirectory(path, {{"metadata", "\x57\x1d\xd1\x75xxxxxxx"}});
    expected = "another CTF tracer";
  }
  SECTION("something called metadata") {
    WriteDirectory(path, {{"metadata", "hello"}});
    expected = "is not CTF 1.8 metadata";
  }
  SECTION("a newer format") {
    WriteDirectory(path,
                   {{"metadata",
                     "/* CTF 1.8 */\nenv { tracer_name = \"countrace\"; "
                     "countrace_format = " +
                         std::to_string(kPauseFormatVersion + 1) + "; };\n"}});
    expected = "UNIMPLEMENTED";
  }
  CHECK_THAT(open_message(), Catch::Matchers::Contains(expected));
}

TEST_CASE("damage: a removed stream file is noticed", "[logformat][damage]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  const SoundTrace sound(temp / "t", 11);
  std::filesystem::remove(temp / "t/thread-100-0");
  std::unique_ptr<TraceReader> reader;
  ReadAll(temp / "t", reader);
  REQUIRE(reader->messages().size() == 1);
  CHECK_THAT(reader->messages()[0],
             Catch::Matchers::Contains("thread-100-0 is gone"));
  CHECK_FALSE(VerifyTrace(temp / "t")->ok);
}

TEST_CASE("damage: ten thousand removed stream files are a few messages",
          "[logformat][damage]") {
  TraceDescription description;
  for (int i = 0; i < 10'000; ++i) {
    description.streams.push_back({"thread-" + std::to_string(i) + "-0", 1});
  }
  const auto messages = MissingStreams({}, description);
  REQUIRE(messages.size() == 21);
  CHECK(messages[0] ==
        "stream file thread-0-0 is gone, and with it the records of 1 packets");
  CHECK(messages[20] == "9980 more stream files are gone");
}

// Anybody who can write into the directory can make them.
TEST_CASE("foreign: links and pipes are not opened, and are named",
          "[logformat][damage]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  const SoundTrace sound(temp / "t", 9);
  std::filesystem::create_symlink("cpu-0", temp / "t/cpu-1");
  std::filesystem::create_directory(temp / "t/cpu-2");
  REQUIRE(mkfifo((temp / "t/thread-1-0").c_str(), 0600) == 0);
  std::unique_ptr<TraceReader> reader;
  ReadAll(temp / "t", reader);
  const auto finished = FinishTrace(temp / "t", {});
  REQUIRE(finished.ok());
  for (const std::vector<std::string>& messages :
       {reader->messages(), finished->messages}) {
    REQUIRE(messages.size() == 3);
    CHECK_THAT(messages[0],
               Catch::Matchers::StartsWith("cpu-1 is a symbolic link"));
    CHECK_THAT(messages[1],
               Catch::Matchers::StartsWith("cpu-2 is a directory"));
    CHECK_THAT(messages[2],
               Catch::Matchers::StartsWith("thread-1-0 is a pipe"));
  }
  const auto verified = VerifyTrace(temp / "t");
  REQUIRE(verified.ok());
  CHECK_FALSE(verified->ok);
}

// Read page by page, the hole would take hours.
TEST_CASE("foreign: a hole of terabytes is not read", "[logformat][damage]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  const SoundTrace sound(temp / "t", 10);
  std::unique_ptr<TraceReader> reader;
  const std::size_t records = ReadAll(temp / "t", reader).records.size();
  const auto before = VerifyTrace(temp / "t");
  std::filesystem::resize_file(temp / "t/cpu-0", std::uintmax_t{1} << 42);
  CHECK(ReadAll(temp / "t", reader).records.size() == records);
  const auto after = VerifyTrace(temp / "t");
  REQUIRE(after.ok());
  CHECK(after->records == before->records);
  CHECK(after->packets == before->packets);
  REQUIRE(FinishTrace(temp / "t", {}).ok());
  CHECK(ReadAll(temp / "t", reader).records.size() == records);
}

std::vector<std::string> Described(const StreamScan& scan) {
  std::vector<std::string> lines;
  const auto add = [&](const std::vector<ScanFinding>& findings) {
    for (const ScanFinding& finding : findings) {
      // Without the mapping, content in a hole is read: a wrong checksum.
      lines.push_back(
          absl::StrFormat("%d: %s; %d missing", finding.offset,
                          finding.what.substr(0, finding.what.find(" has ")),
                          finding.missing_packets));
    }
  };
  for (const ScannedPacket& packet : scan.packets) {
    add(packet.findings);
    lines.push_back(
        absl::StrFormat("%d: packet of %d bytes, %d touched, %d holes, open %d",
                        packet.offset, packet.records.size(),
                        packet.touched_bytes, packet.holes, packet.was_open));
  }
  add(scan.findings_at_end);
  lines.push_back(
      absl::StrFormat("%d kept, %d bad", scan.kept_end, scan.bad_regions));
  return lines;
}

bool EndsInHole(const std::vector<std::string>& lines) {
  return std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return line.find("does not end within") != std::string::npos;
  });
}

// Pages of streams, some of them changed, at random places of a large file.
TEST_CASE("damage: a scan that skips holes equals one that reads them",
          "[logformat][damage]") {
  constexpr std::size_t kPages = 40 << 10;  // 160 MiB
  constexpr std::size_t kPageBytes = 4096;
  TempDirectory temp(TempDirectory::Place::kMemory);
  const SoundTrace sound(temp / "t", 12);
  auto reader = TraceReader::Open(temp / "t");
  REQUIRE(reader.ok());
  const std::vector<EventClass> classes = EventClasses((*reader)->info());
  const RecordTable table(classes, StreamClass::kCpu);
  const std::string& stream = sound.files.at("cpu-0");
  const std::string path = temp / "sparse";
  std::mt19937 random(18);
  for (int round = 0; round < 12; ++round) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    std::size_t page = random() % 3;
    for (std::size_t from = 0; from < stream.size(); from += kPageBytes) {
      std::string bytes = stream.substr(from, kPageBytes);
      const auto change = random() % 6;
      if (change == 0) bytes[random() % bytes.size()] ^= 4;
      if (change == 1)
        bytes.replace(offsetof(PacketHead, content_bits), 8, 8, '\0');
      if (change == 2) page += random() % (kPages / 8);
      if (page >= kPages) break;
      file.seekp(static_cast<std::streamoff>(page * kPageBytes));
      file << bytes;
      ++page;
    }
    file.close();
    std::filesystem::resize_file(path, kPages * kPageBytes);
    const auto mapping = base::FileMapping::Open(path);
    REQUIRE(mapping.ok());
    ScanOptions options;
    options.uuid = (*reader)->info().uuid;
    options.stream_class = StreamClass::kCpu;
    options.walk_closed = round % 2 == 0;
    const auto read = Described(ScanStream(mapping->bytes(), table, options));
    options.mapping = &*mapping;
    const auto skipped =
        Described(ScanStream(mapping->bytes(), table, options));
    // A record of which the last part is a hole is damage, where reading it
    // finds zeros: the end of a text.
    if (!EndsInHole(skipped)) CHECK(skipped == read);
    CHECK(read.size() > 1);
  }
}

TEST_CASE("foreign: a stream of another trace is a loss, not records",
          "[logformat][damage]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  const SoundTrace sound(temp / "t", 10);
  DirectoryBytes files = sound.files;
  for (std::size_t at = 0; at < files["cpu-0"].size(); at += 4096) {
    files["cpu-0"][at + 4] ^= 1;  // uuid, where there is a head
  }
  WriteDirectory(temp / "t", files);
  std::unique_ptr<TraceReader> reader;
  const Collector read = ReadAll(temp / "t", reader);
  for (const PlainRecord& record : read.records) CHECK(record.cpu == -1);
  CHECK(read.lost_packets >= 1);
}

}  // namespace
}  // namespace countrace::logformat
