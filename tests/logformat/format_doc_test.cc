// Decodes FORMAT.md: its tables of the packet head and of prev_state, and its
// hex.
#include <sys/timex.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "logformat/packet_layout.h"
#include "logformat/read/clock_samples.h"
#include "logformat/read/script_render.h"
#include "logformat/read/trace_reader.h"
#include "logformat/records.h"
#include "logformat/sample_points.h"
#include "logformat/trace_info.h"
#include "tests/logformat/directory_bytes.h"
#include "tests/support/trace_builder.h"

namespace countrace::logformat {
namespace {

using test_support::TempDirectory;

// Fenced blocks of the document, by the text after their fence.
std::map<std::string, std::string> Blocks() {
  std::ifstream file(COUNTRACE_FORMAT_DOCUMENT);
  REQUIRE(file.good());
  std::map<std::string, std::string> blocks;
  std::string line, open;
  while (std::getline(file, line)) {
    if (line.rfind("```", 0) == 0) {
      open = open.empty() ? line.substr(3) : "";
    } else if (!open.empty()) {
      blocks[open] += line + "\n";
    }
  }
  return blocks;
}

// Bytes of a hex block; its offsets must be right.
std::string Bytes(const std::string& hex) {
  std::istringstream lines(hex);
  std::string bytes, line;
  while (std::getline(lines, line)) {
    line = line.substr(0, line.find(';'));
    CAPTURE(line);
    REQUIRE(line[4] == ':');
    REQUIRE(std::stoul(line.substr(0, 4), nullptr, 16) == bytes.size());
    std::istringstream values(line.substr(5));
    std::string value;
    while (values >> value) {
      bytes += static_cast<char>(std::stoul(value, nullptr, 16));
    }
  }
  return bytes;
}

class Lines final : public ItemSink {
 public:
  explicit Lines(const TraceInfo& info) : renderer_(info) {}
  void OnRecord(const EventRecord& record) override {
    renderer_.AppendRecord(record, text);
  }
  void OnDiscardedEvents(const DiscardedEvents& loss) override {
    renderer_.AppendLoss(loss, text);
  }
  void OnDiscardedPackets(const DiscardedPackets& loss) override {
    renderer_.AppendLoss(loss, text);
  }
  std::string text;

 private:
  ScriptRenderer renderer_;
};

TEST_CASE("FORMAT.md: its hex decodes to its text", "[logformat][document]") {
  const auto blocks = Blocks();
  DirectoryBytes files;
  for (const auto& [name, text] : blocks) {
    if (name.rfind("hex ", 0) != 0) continue;
    std::string packet = Bytes(text);
    packet.resize(4096, '\0');
    files[name.substr(4)] = packet;
  }
  REQUIRE(files.size() == 2);
  files["metadata"] =
      "/* CTF 1.8 */\n"
      "trace { uuid = \"00112233-4455-6677-8899-aabbccddeeff\"; };\n" +
      blocks.at("env");
  TempDirectory temp;
  WriteDirectory(temp / "t", files);
  auto reader = TraceReader::Open(temp / "t");
  INFO(reader.status());
  REQUIRE(reader.ok());
  Lines lines((*reader)->info());
  REQUIRE((*reader)->Read(lines).ok());
  CHECK(lines.text == blocks.at("script"));
}

TEST_CASE("FORMAT.md: its sample with a data address is as it is written",
          "[logformat][document]") {
  auto blocks = Blocks();
  constexpr std::uint64_t kIds = 5 | 4ull << 24;
  const auto body = [](const auto& numbers) {
    const std::vector<std::byte> bytes = SampleRecordBody(kIds, numbers, {});
    return std::string(reinterpret_cast<const char*>(bytes.data()),
                       bytes.size());
  };
  const std::array<std::uint64_t, kAreaNumbers> area = {
      2, 7, 0x5624bf65d000, 0x190000, 0x68000, 0};
  const std::array<std::uint64_t, kAddressNumbers> sample = {97, 3, 2,
                                                             0x5624bf65d010};
  CHECK(Bytes(blocks["bytes area"]) == body(area));
  CHECK(Bytes(blocks["bytes sample"]) == body(sample));
}

TEST_CASE("FORMAT.md: its clock sample is as it is written",
          "[logformat][document]") {
  ClockRecord sample{};
  sample.width_ns = 80;
  sample.realtime_ns = 1700000002623456789;
  sample.tai_ns = sample.realtime_ns + 37000000000;
  sample.raw = 0x19502f900;
  sample.offset_ns = -1000;
  sample.frequency = -3 * 65536 / 2;
  sample.max_error_us = 1200;
  sample.estimated_error_us = 15;
  sample.status = STA_PLL | STA_NANO;
  const std::string bytes(reinterpret_cast<const char*>(&sample),
                          sizeof(sample));
  CHECK(Bytes(Blocks()["bytes clock"]) == bytes.substr(sizeof(sample.header)));
}

TEST_CASE("FORMAT.md: its table of the packet head is the structure",
          "[logformat][document]") {
  const std::map<std::string, std::pair<std::size_t, std::size_t>> fields = {
#define FIELD(name)                                                 \
  {                                                                 \
#name, { offsetof(PacketHead, name), sizeof(PacketHead::name) } \
  }
      FIELD(magic),
      FIELD(uuid),
      FIELD(stream_class),
      FIELD(begin_ns),
      FIELD(end_ns),
      FIELD(content_bits),
      FIELD(packet_bits),
      FIELD(sequence),
      FIELD(checksum),
      FIELD(discarded),
      FIELD(discarded_by_cause),
      FIELD(raw_begin),
      FIELD(monotonic_begin),
      FIELD(raw_end),
      FIELD(monotonic_end),
      FIELD(cpu),
      FIELD(pid),
      FIELD(tid),
      FIELD(mmcr),
      FIELD(present),
      FIELD(flags),
#undef FIELD
  };
  std::ifstream file(COUNTRACE_FORMAT_DOCUMENT);
  std::string line;
  std::size_t rows = 0, end = 0;
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    std::string bar, name;
    std::size_t offset = 0, bytes = 0;
    if (line.rfind("| ", 0) != 0 ||
        !(cells >> bar >> offset >> bar >> bytes >> bar >> name)) {
      continue;
    }
    CAPTURE(line);
    REQUIRE(fields.count(name) == 1);
    CHECK(fields.at(name) == std::make_pair(offset, bytes));
    CHECK(offset == end);
    end = offset + bytes;
    ++rows;
  }
  CHECK(rows == fields.size());
  CHECK(end == kPacketHeadBytes);
}

TEST_CASE("FORMAT.md: its table of prev_state has each value that is written",
          "[logformat][document]") {
  std::ifstream file(COUNTRACE_FORMAT_DOCUMENT);
  std::string line;
  while (std::getline(file, line) && line != "| value | the thread |") {
  }
  std::getline(file, line);  // the ruler
  std::vector<unsigned long> values;
  while (std::getline(file, line) && line.rfind("| ", 0) == 0) {
    values.push_back(std::stoul(line.substr(2), nullptr, 0));
  }
  CHECK(values ==
        std::vector<unsigned long>{kSwitchRunnable, kSwitchInterruptible,
                                   kSwitchUninterruptible, kSwitchStopped,
                                   kSwitchTraced, kSwitchDead, kSwitchOther,
                                   kSwitchPreempted, kSwitchThrottled});
}

}  // namespace
}  // namespace countrace::logformat
