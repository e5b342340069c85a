// VerifyTrace: each kind of damage is found, at its place, with both numbers.
#include "logformat/repair/trace_verify.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>

#include "logformat/packet_checksum.h"
#include "logformat/repair/trace_finish.h"
#include "tests/logformat/directory_bytes.h"
#include "tests/support/property_runs.h"
#include "tests/support/trace_builder.h"

namespace countrace::logformat {
namespace {

using Catch::Matchers::Contains;
using test_support::PropertyRuns;
using test_support::TempDirectory;
using test_support::TraceBuilder;

constexpr std::size_t kPacketBytes = 2 * kPacketAlignBytes;

// A finished trace with one stream "thread-1-1" of three packets of 501, 501
// and 498 records of 16 bytes.
class SoundTrace {
 public:
  SoundTrace() : temp_(TempDirectory::Place::kMemory), path_(temp_ / "t") {
    TraceBuilder builder(path_);
    builder.SetPacketBytes(kPacketBytes);
    const std::uint32_t hook = builder.AddPoint("p", "n", "u", 7);
    for (std::uint64_t i = 0; i < 1500; ++i) {
      builder.Thread(1, 1).Point(hook, 1000 + 10 * i, {i});
    }
    builder.Finish();
    files = ReadDirectory(path_);
    REQUIRE(stream().size() == 3 * kPacketBytes);
  }
  std::string& stream() { return files["thread-1-1"]; }
  void Put(std::size_t packet, std::size_t at, std::uint64_t value) {
    std::memcpy(stream().data() + packet * kPacketBytes + at, &value,
                sizeof(value));
  }
  std::uint64_t Get(std::size_t packet, std::size_t at) {
    std::uint64_t value;
    std::memcpy(&value, stream().data() + packet * kPacketBytes + at,
                sizeof(value));
    return value;
  }
  // Damage that has the right checksum: what a writer does not write.
  void Seal() {
    for (std::size_t at = 0; at + kPacketBytes <= stream().size();
         at += kPacketBytes) {
      PacketHead head;
      std::memcpy(&head, stream().data() + at, sizeof(head));
      if (head.content_bits < kPacketHeadBytes * 8 ||
          head.content_bits > kPacketBytes * 8) {
        continue;
      }
      head.checksum =
          PacketChecksum(head, stream().data() + at + kPacketHeadBytes);
      std::memcpy(stream().data() + at, &head, sizeof(head));
    }
  }
  VerifyResult Verify() {
    WriteDirectory(path_, files);
    auto result = VerifyTrace(path_);
    INFO(result.status());
    REQUIRE(result.ok());
    return *std::move(result);
  }

  DirectoryBytes files;

 private:
  TempDirectory temp_;
  std::string path_;
};

TEST_CASE("verify: a sound trace has no finding", "[logformat][verify]") {
  const VerifyResult result = SoundTrace().Verify();
  CHECK(result.ok);
  CHECK(result.findings.empty());
  CHECK(result.streams == 1);
  CHECK(result.packets == 3);
  CHECK(result.records == 1500);
}

TEST_CASE("verify: each kind of damage is found where it is",
          "[logformat][verify]") {
  SoundTrace trace;
  std::string what;
  std::uint64_t offset = kPacketBytes;
  bool is_loss = false;
  SECTION("magic") {
    trace.Put(1, 0, 0);
    what = "bytes 8192 to 16384 are not a packet of this stream";
  }
  SECTION("uuid") {
    trace.Put(1, 4, 0);
    what = "are not a packet of this stream";
  }
  SECTION("stream class") {
    trace.Put(1, 20, 0);
    what = "are not a packet of this stream";
  }
  SECTION("packet size no multiple of a page") {
    trace.Put(1, offsetof(PacketHead, packet_bits), kPacketBytes * 8 - 8);
    what = "are not a packet of this stream";
  }
  SECTION("content larger than the packet") {
    trace.Put(1, offsetof(PacketHead, content_bits), kPacketBytes * 8 + 64);
    what = "are not a packet of this stream";
  }
  SECTION("content ends inside a record") {
    trace.Put(1, offsetof(PacketHead, content_bits), (176 + 72) * 8);
    what = "does not end within 8 bytes";
    offset += 176 + 64;
  }
  SECTION("content longer than the records") {
    trace.Put(2, offsetof(PacketHead, content_bits), kPacketBytes * 8);
    what = "unknown event id 0";
    offset = 2 * kPacketBytes + 176 + 498 * 16;
  }
  SECTION("open packet") {
    trace.Put(2, offsetof(PacketHead, content_bits), 0);
    what = "packet 2 is open: content size 0 with 498 records";
    offset = 2 * kPacketBytes;
  }
  SECTION("begin before the end of the packet before") {
    trace.Put(1, offsetof(PacketHead, begin_ns), 1500);
    what = "packet begins at 1500 ns; the packet before it ends at 6000 ns";
  }
  SECTION("end before begin") {
    trace.Put(1, offsetof(PacketHead, end_ns), 17);
    what = "packet ends at 17 ns, it begins at 6010 ns";
  }
  SECTION("end is not the last record") {
    trace.Put(1, offsetof(PacketHead, end_ns), 11009);
    what = "packet ends at 11009 ns, its last record is of 11010 ns";
  }
  SECTION("end is long after the last record") {
    trace.Put(2, offsetof(PacketHead, end_ns), 900'000'000);
    what = "packet ends at 900000000 ns, its last record is of 15990 ns";
    offset = 2 * kPacketBytes;
  }
  SECTION("a record goes back in time") {
    const std::uint64_t word = trace.Get(1, 176 + 160);
    trace.Put(1, 176 + 160,
              HeaderWord(HeaderEventId(word), HeaderTimeLow(word) - 1000));
    what = "1 of 501 records go back in time";
  }
  SECTION("unknown event id") {
    trace.Put(1, 176 + 160, HeaderWord(9999, 7000));
    what = "unknown event id 9999 at record offset 160";
    offset += 176 + 160;
  }
  SECTION("sequence gap") {
    trace.Put(2, offsetof(PacketHead, sequence), 5);  // and no checksum
    what = "packet sequence number 5, expected 2; packets lost: 3";
    offset = 2 * kPacketBytes;
    is_loss = true;
  }
  SECTION("sequence goes back") {
    trace.Put(1, offsetof(PacketHead, sequence), 0);
    what = "packet sequence number 0, expected 1";
  }
  SECTION("discarded is not the sum by cause") {
    trace.Put(1, offsetof(PacketHead, discarded), 5);
    what = "discarded events 5, sum by cause 0";
  }
  SECTION("discarded goes back") {
    trace.Put(0, offsetof(PacketHead, discarded), 5);
    trace.Put(0, offsetof(PacketHead, discarded_by_cause), 5);
    what = "discarded events 0, sum by cause 0, after 5";
  }
  SECTION("zeros behind the last packet") {
    trace.stream() += std::string(4096, '\0');
    what = "packets end at 24576, the file at 28672";
    offset = 3 * kPacketBytes;
  }
  SECTION("something behind the last packet") {
    trace.stream() += "x";
    what = "bytes 24576 to 24577 are not a packet";
    offset = 3 * kPacketBytes;
  }
  SECTION("cut at a packet boundary") {
    trace.stream().resize(2 * kPacketBytes);
    what = "file ends after packet 2 of 3; packets lost: 1";
    offset = 2 * kPacketBytes;
  }
  SECTION("cut inside a record") {
    trace.stream().resize(2 * kPacketBytes + 176 + 24);
    what = "does not end within 8 bytes";
    offset = 2 * kPacketBytes + 176 + 16;
  }
  trace.Seal();
  const VerifyResult result = trace.Verify();
  CHECK(result.ok == is_loss);
  bool found = false;
  for (const VerifyFinding& finding : result.findings) {
    INFO(finding.file << " " << finding.offset << " " << finding.what);
    CHECK(finding.file == "thread-1-1");
    found = found || (finding.offset == offset && finding.is_loss == is_loss &&
                      finding.what.find(what) != std::string::npos);
  }
  CAPTURE(what);
  if (!result.findings.empty()) {
    CAPTURE(result.findings[0].offset, result.findings[0].what);
    CHECK(found);
  } else {
    CHECK(found);
  }
}

TEST_CASE("verify: each changed bit of a packet is found, with both checksums",
          "[logformat][verify]") {
  SoundTrace trace;
  const std::string sound = trace.stream();
  for (std::size_t i = 0; i < PropertyRuns(std::size_t{400}); ++i) {
    // All bytes of a head, and bytes of records.
    const std::size_t at = i < kPacketHeadBytes ? i : i * 37 % 8192;
    if (at >= kPacketHeadBytes + 501 * 16) continue;  // unused
    CAPTURE(at);
    trace.stream() = sound;
    trace.stream()[kPacketBytes + at] ^= static_cast<char>(1 << i % 8);
    const VerifyResult result = trace.Verify();
    CHECK_FALSE(result.ok);
    CHECK(result.packets == 2);
    CHECK(result.records == 999);
    REQUIRE_FALSE(result.findings.empty());
    const VerifyFinding& finding = result.findings[0];
    CHECK(finding.offset == kPacketBytes);
    CHECK_THAT(finding.what,
               Contains("has checksum") || Contains("are not a packet"));
    if (at >= kPacketHeadBytes) {
      CHECK_THAT(finding.what, Contains("packet 1 has checksum ") &&
                                   Contains(", its 8192 bytes give ") &&
                                   Contains("packets lost: 1"));
    }
  }
}

TEST_CASE("verify: padding in the content size is found, and recover cuts it",
          "[logformat][verify]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  const std::uint32_t hook = builder.AddPoint("p", "n", "s");
  builder.Thread(1, 1).Point(hook, 10, {std::string("abc")});
  // The writer's packet ends with the padding; finishing cuts it off.
  builder.Finish();
  CHECK(VerifyTrace(temp / "t")->ok);
  DirectoryBytes files = ReadDirectory(temp / "t");
  const std::uint64_t padded = (176 + 16) * 8;
  std::uint64_t stored = 0;
  char* at = files["thread-1-1"].data() + offsetof(PacketHead, content_bits);
  std::memcpy(&stored, at, 8);
  CHECK(stored == (176 + 12) * 8);
  std::memcpy(at, &padded, 8);
  PacketHead head;
  std::memcpy(&head, files["thread-1-1"].data(), sizeof(head));
  head.checksum =
      PacketChecksum(head, files["thread-1-1"].data() + kPacketHeadBytes);
  std::memcpy(files["thread-1-1"].data(), &head, sizeof(head));
  WriteDirectory(temp / "t", files);
  const auto result = VerifyTrace(temp / "t");
  REQUIRE(result->findings.size() == 1);
  CHECK_THAT(result->findings[0].what,
             Contains("1536 bits") && Contains("records end at 1504"));
  REQUIRE(FinishTrace(temp / "t", {}).ok());
  CHECK(VerifyTrace(temp / "t")->ok);
}

TEST_CASE("verify: strangers, left-overs and an unfinished trace are found",
          "[logformat][verify]") {
  SoundTrace trace;
  trace.files["notes.txt"] = "hello";
  trace.files[".rewrite-cpu-0"] = "half";
  trace.files[".incomplete"] = "";
  const VerifyResult result = trace.Verify();
  CHECK_FALSE(result.ok);
  REQUIRE(result.findings.size() == 3);
  CHECK_THAT(result.findings[0].what, Contains("countrace recover"));
  CHECK(result.findings[1].file == "notes.txt");
  CHECK(result.findings[2].file == ".rewrite-cpu-0");
}

TEST_CASE("verify: metadata changed by hand is found", "[logformat][verify]") {
  SoundTrace trace;
  std::string& text = trace.files[kMetadataFile];
  const std::size_t at = text.find("testhost");
  text[at] = 'T';
  const VerifyResult result = trace.Verify();
  CHECK_FALSE(result.ok);
  // That it was, as readers say it, and where.
  REQUIRE(result.findings.size() == 2);
  CHECK(result.findings[0].file == kMetadataFile);
  CHECK_THAT(result.findings[0].what, Contains("was changed"));
  CHECK(result.findings[1].file == kMetadataFile);
}

TEST_CASE(
    "verify: an unfinished trace of a killed recorder is readable, and "
    "says so",
    "[logformat][verify]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  const std::uint32_t hook = builder.AddPoint("p", "n");
  builder.Thread(1, 1).Point(hook, 10);
  builder.Abandon();
  const auto result = VerifyTrace(temp / "t");
  REQUIRE(result.ok());
  CHECK_FALSE(result->ok);
  CHECK(result->records == 1);
  REQUIRE(result->findings.size() == 1);
  CHECK(result->findings[0].file == kIncompleteFile);
}

TEST_CASE("verify: of many strange files 20 are named and all are counted",
          "[logformat][verify]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  builder.Thread(1, 1).Point(builder.AddPoint("p", "n"), 10);
  builder.Finish();
  for (int i = 0; i < 1020; ++i) {
    std::ofstream(temp / "t" + "/x" + std::to_string(i)) << i;
  }
  const auto result = VerifyTrace(temp / "t");
  REQUIRE(result.ok());
  CHECK_FALSE(result->ok);
  REQUIRE(result->findings.size() == 21);
  CHECK(result->findings[19].file.starts_with("x"));
  CHECK(result->findings[20].file.empty());
  CHECK_THAT(result->findings[20].what, Contains("1000 more files"));
}

}  // namespace
}  // namespace countrace::logformat
