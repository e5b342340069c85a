// Traces of more events and sets than `.session` has places for: what is
// written is read, however the recording ends.
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "logformat/description/metadata_reader.h"
#include "logformat/description/metadata_writer.h"
#include "logformat/description/session_files.h"
#include "logformat/read/trace_reader.h"
#include "logformat/repair/trace_finish.h"
#include "logformat/repair/trace_verify.h"
#include "tests/support/trace_builder.h"

namespace countrace::logformat {
namespace {

using test_support::TempDirectory;
using test_support::TraceBuilder;

struct Shape {
  std::size_t always, sets, in_set;
  std::size_t events() const { return always + sets * in_set; }
  std::size_t slots() const { return always + in_set + 1; }
};

std::vector<std::string> Names(std::size_t events) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < events; ++i) {
    names.push_back(absl::StrFormat("cpu/event=0x%x/", i));
  }
  return names;
}

// The values of dump `number`, of set `set`.
std::vector<std::uint64_t> Values(const Shape& shape, std::uint32_t set,
                                  std::uint64_t number) {
  std::vector<std::uint64_t> values;
  for (std::size_t slot = 0; slot < shape.slots(); ++slot) {
    values.push_back((std::uint64_t{set} << 32 | slot << 16) + number);
  }
  return values;
}

std::uint32_t AllPresent(const Shape& shape) {
  return (1u << shape.slots()) - 1;
}

void Write(const Shape& shape, TraceBuilder& builder) {
  builder.SetCpuEvents(
      Names(shape.events()),
      std::vector<std::uint32_t>(shape.sets,
                                 static_cast<std::uint32_t>(shape.in_set)));
  auto& cpu = builder.Cpu(0);
  std::uint64_t time_ns = 1000, number = 0;
  for (std::uint32_t set = 0; set < shape.sets; ++set) {
    cpu.SetEventSet(set, AllPresent(shape));
    cpu.Counters(++time_ns,
                 set == 0 ? CountersReason::kBegin : CountersReason::kSetBegin,
                 5, Values(shape, set, number++));
    cpu.Dispatch(++time_ns, 5, 0, 1, Values(shape, set, number++));
    cpu.Counters(++time_ns, CountersReason::kSetEnd, 0,
                 Values(shape, set, number++));
  }
}

class DumpCollector final : public ItemSink {
 public:
  void OnRecord(const EventRecord& record) override {
    if (record.counters == nullptr) return;
    mmcrs.push_back(record.mmcr);
    present.push_back(record.present);
    values.emplace_back(record.counters, record.counters + slots);
  }
  void OnDiscardedEvents(const DiscardedEvents&) override { ++lost; }
  void OnDiscardedPackets(const DiscardedPackets&) override { ++lost; }
  std::size_t slots = 0;
  std::vector<std::uint32_t> mmcrs, present;
  std::vector<std::vector<std::uint64_t>> values;
  int lost = 0;
};

void CheckRead(const Shape& shape, const std::string& path) {
  auto reader = TraceReader::Open(path);
  INFO(reader.status());
  REQUIRE(reader.ok());
  const TraceInfo& info = (*reader)->info();
  CHECK(info.cpu_events == Names(shape.events()));
  CHECK(info.cpu_set_sizes ==
        std::vector<std::size_t>(shape.sets, shape.in_set));
  CHECK(info.cpu_event_configs.size() == shape.events());
  DumpCollector found;
  found.slots = shape.slots();
  REQUIRE((*reader)->Read(found, nullptr).ok());
  CHECK(found.lost == 0);
  REQUIRE(found.values.size() == 3 * shape.sets);
  for (std::size_t i = 0; i < found.values.size(); ++i) {
    CAPTURE(i);
    const auto set = static_cast<std::uint32_t>(i / 3);
    CHECK(found.mmcrs[i] == set);
    CHECK(found.present[i] == AllPresent(shape));
    CHECK(found.values[i] == Values(shape, set, i));
  }
}

const Shape kShapes[] = {
    {8, 24, 5}, {4, 63, 4}, {2, 64, 1}, {10, 2, 8}, {0, 9, 1}};

TEST_CASE("many events: what is written is read, however a recording ends",
          "[logformat]") {
  const Shape shape = kShapes[GENERATE(range(0, 5))];
  CAPTURE(shape.always, shape.sets, shape.in_set);
  TempDirectory temp(TempDirectory::Place::kMemory);
  const std::string path = temp / "t";
  TraceBuilder builder(path);
  Write(shape, builder);
  SECTION("at its end") { builder.Finish(); }
  SECTION("killed, read as it is") {
    builder.Abandon();
    CHECK(std::filesystem::exists(path + "/" + kCpuEventsFile));
  }
  SECTION("killed, recovered") {
    builder.Abandon();
    REQUIRE(FinishTrace(path, {}).ok());
    CHECK_FALSE(std::filesystem::exists(path + "/" + kCpuEventsFile));
  }
  CheckRead(shape, path);
}

TEST_CASE("many events: the format that older readers refuse by its name",
          "[logformat]") {
  const auto format = [](const Shape& shape) {
    TraceDescription description;
    description.info.cpu_events = Names(shape.events());
    description.info.cpu_set_sizes.assign(shape.sets, shape.in_set);
    const std::string text = MetadataText(description);
    const auto read = ParseMetadata(text, "t");
    INFO(read.status());
    REQUIRE(read.ok());
    // The description is of the newest format, the text of the oldest that has
    // it all; both say the same of a trace.
    CHECK(MetadataText(*read) == text);
    return read->info.format;
  };
  CHECK(format({8, 24, 5}) == kPointValuesVersion);
  CHECK(format({0, 9, 1}) == kPointValuesVersion);
  CHECK(format({1, 8, 3}) == kPointValuesVersion);
  CHECK(format({0, 8, 3}) == kFewEventsVersion);
  CHECK(format({4, 2, 2}) == kFewEventsVersion);
}

TEST_CASE("many events: more than the format allows are refused",
          "[logformat]") {
  CHECK(EventSets{256, std::vector<std::size_t>(64, 4), true}.valid());
  CHECK_FALSE(EventSets{257, std::vector<std::size_t>(64, 4), true}.valid());
  CHECK_FALSE(EventSets{65, std::vector<std::size_t>(65, 1), true}.valid());
  // What counts at once is one dump: 23 values, and the time of the set.
  CHECK(EventSets{30, {15, 7}, true}.valid());
  CHECK_FALSE(EventSets{40, {16, 16}, true}.valid());
  // Threads have what their dumps and their memory have room for.
  CHECK(EventSets{16, std::vector<std::size_t>(8, 2), false}.valid());
  CHECK_FALSE(EventSets{17, std::vector<std::size_t>(8, 2), false}.valid());
  CHECK_FALSE(EventSets{9, std::vector<std::size_t>(9, 1), false}.valid());
}

TEST_CASE("many events: a damaged list of them is an error with both sizes",
          "[logformat]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  const std::string path = temp / "t";
  const Shape shape = {8, 24, 5};
  TraceBuilder builder(path);
  Write(shape, builder);
  builder.Abandon();
  const std::string file = path + "/" + kCpuEventsFile;
  SECTION("cut") {
    std::filesystem::resize_file(file, 1000);
    const auto read = ReadSessionFiles(path);
    CHECK(absl::IsDataLoss(read.status()));
    const std::string message(read.status().message());
    INFO(message);
    CHECK(message.find(".cpu_events: bytes=1000, expected 10336") !=
          std::string::npos);
  }
  SECTION("missing") {
    std::filesystem::remove(file);
    CHECK_FALSE(ReadSessionFiles(path).ok());
  }
  SECTION("sizes that no trace has") {
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(
        static_cast<std::streamoff>(shape.events() * sizeof(SessionEvent)));
    const std::uint32_t size = 0;
    out.write(reinterpret_cast<const char*>(&size), sizeof(size));
    out.close();
    CHECK(absl::IsDataLoss(ReadSessionFiles(path).status()));
  }
  CHECK_FALSE(FinishTrace(path, {}).ok());
}

}  // namespace
}  // namespace countrace::logformat
