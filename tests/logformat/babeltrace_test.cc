// An independent check: babeltrace2 reads our traces, without output on stderr,
// and sees the same records in the same order with the same fields.
#include <sys/wait.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <regex>
#include <sstream>

#include "logformat/description/metadata_writer.h"
#include "logformat/description/trace_directory.h"
#include "logformat/read/script_render.h"
#include "logformat/repair/trace_finish.h"
#include "logformat/repair/trace_verify.h"
#include "tests/logformat/directory_bytes.h"
#include "tests/logformat/trace_generator.h"
#include "tests/support/trace_builder.h"

namespace countrace::logformat {
namespace {

using test_support::TempDirectory;
using test_support::TraceBuilder;

// A record as text: its time, then "name: fields".
using Line = std::pair<std::uint64_t, std::string>;

struct BabeltraceRun {
  std::vector<Line> lines;
  std::string errors;
  int status = 0;
};

// "[TIME] HOST NAME: { packet context }, { fields }" without host and packet
// context.
Line ParseLine(const std::string& text, const std::string& host) {
  Line line;
  std::from_chars(text.data() + 1, text.data() + text.size(), line.first);
  const std::size_t name = text.find("] " + host + " ") + host.size() + 3;
  // Its first field; format 2 has no checksum.
  const std::size_t context =
      std::min(text.find(": { checksum = ", name),
               text.find(": { discarded_no_sub_buffer = ", name));
  REQUIRE(context != std::string::npos);
  const std::size_t end = text.find(" }", context) + 2;
  line.second = text.substr(name, context - name) + ": ";
  // babeltrace2 also puts a backslash before '?' and '\''.
  for (std::size_t i = end + 2; i < text.size(); ++i) {
    if (text[i] == '\\' && (text[i + 1] == '?' || text[i + 1] == '\'')) {
      continue;
    }
    line.second += text[i];
    if (text[i] == '\\') line.second += text[++i];
  }
  return line;
}

BabeltraceRun RunBabeltrace(const std::string& trace,
                            const std::string& host = "testhost") {
  BabeltraceRun run;
  const std::string errors = trace + ".stderr";
  const std::string command =
      "babeltrace2 --clock-cycles --no-delta " + trace + " 2>" + errors;
  FILE* out = popen(command.c_str(), "r");
  REQUIRE(out != nullptr);
  std::string text;
  char buffer[65536];
  while (std::fgets(buffer, sizeof(buffer), out) != nullptr) {
    text += buffer;
    if (text.back() != '\n') continue;
    text.pop_back();
    run.lines.push_back(ParseLine(text, host));
    text.clear();
  }
  run.status = pclose(out);
  std::ostringstream content;
  content << std::ifstream(errors).rdbuf();
  run.errors = content.str();
  return run;
}

class LineSink final : public ItemSink {
 public:
  explicit LineSink(const TraceInfo& info) : renderer_(info) {}
  void OnRecord(const EventRecord& record) override {
    Line line{record.time_ns, renderer_.EventName(record)};
    line.second += ": ";
    renderer_.AppendFields(record, line.second);
    lines.push_back(std::move(line));
  }
  void OnDiscardedEvents(const DiscardedEvents&) override {}
  void OnDiscardedPackets(const DiscardedPackets&) override {}

  std::vector<Line> lines;

 private:
  ScriptRenderer renderer_;
};

std::vector<Line> OurLines(const std::string& path) {
  auto reader = TraceReader::Open(path);
  REQUIRE(reader.ok());
  LineSink sink((*reader)->info());
  REQUIRE((*reader)->Read(sink).ok());
  return sink.lines;
}

void CheckAgreement(const std::string& path) {
  const BabeltraceRun theirs = RunBabeltrace(path);
  CHECK(theirs.status == 0);
  CHECK(theirs.errors == "");
  std::vector<Line> ours = OurLines(path);
  REQUIRE(theirs.lines.size() == ours.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    REQUIRE(theirs.lines[i].first == ours[i].first);  // the same order
  }
  std::vector<Line> sorted = theirs.lines;
  std::sort(sorted.begin(), sorted.end());  // ties between streams are free
  std::sort(ours.begin(), ours.end());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    REQUIRE(sorted[i].second == ours[i].second);
  }
}

TEST_CASE("babeltrace2 and script agree on finished traces",
          "[logformat][babeltrace]") {
  const auto seed = GENERATE(range(200u, 212u));
  CAPTURE(seed);
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  Generate(builder, seed, {.losses = false});
  builder.Finish();
  CheckAgreement(temp / "t");
}

// The trace as version 2 wrote it: without checksums (FORMAT.md, section 3.4).
void MakeFormat2(const std::string& path) {
  const auto directory = ListTraceDirectory(path);
  REQUIRE(directory.ok());
  auto description = DescribeTrace(*directory);
  REQUIRE(description.ok());
  description->info.format = 2;
  DirectoryBytes files = ReadDirectory(path);
  files["metadata"] = MetadataText(*description);
  for (const StreamFile& stream : directory->streams) {
    std::string& bytes = files[stream.name];
    for (std::size_t at = 0; at < bytes.size();) {
      PacketHead head;
      REQUIRE(bytes.size() - at >= sizeof(head));
      std::memcpy(&head, bytes.data() + at, sizeof(head));
      head.checksum = 0;
      head.flags &= ~std::uint32_t{kPacketLateChecksum};
      std::memcpy(bytes.data() + at, &head, sizeof(head));
      at += head.packet_bits / 8;
    }
  }
  WriteDirectory(path, files);
}

TEST_CASE("traces of format 2 are read as before", "[logformat][babeltrace]") {
  const auto seed = GENERATE(range(400u, 404u));
  CAPTURE(seed);
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  const GeneratedTrace written = Generate(builder, seed, {.losses = false});
  builder.Finish();
  const std::vector<Line> before = OurLines(temp / "t");
  MakeFormat2(temp / "t");
  CHECK(OurLines(temp / "t") == before);
  CHECK(before.size() == written.records.size());
  CheckAgreement(temp / "t");
  const auto verified = VerifyTrace(temp / "t");
  REQUIRE(verified.ok());
  CHECK(verified->ok);
  CHECK(verified->findings.empty());
  CHECK(verified->checked_packets == 0);
  // It is finished: nothing to recover, and no checksums are added.
  const DirectoryBytes files = ReadDirectory(temp / "t");
  REQUIRE(FinishTrace(temp / "t", {}).ok());
  CHECK(ReadDirectory(temp / "t") == files);
}

TEST_CASE("babeltrace2 and script agree on recovered traces",
          "[logformat][babeltrace]") {
  const auto seed = GENERATE(range(300u, 306u));
  const bool alive = GENERATE(false, true);
  CAPTURE(seed, alive);
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  Generate(builder, seed, {.losses = false});
  builder.Abandon();
  REQUIRE(FinishTrace(temp / "t", {.processes_may_be_alive = alive}).ok());
  CheckAgreement(temp / "t");
}

TEST_CASE("babeltrace2 reads names that need escaping",
          "[logformat][babeltrace]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  builder.SetCpuEvents({"int", "event", "01c", "r01c2", "a-b", "a:b", "\"\\",
                        "prev_tid", "sched:sched_switch"});
  builder.SetThreadEvents({"string", "clock", "\xc3\xa4"});
  std::snprintf(builder.session().command, 200, "%s",
                "sh -c \"a\\b\n\t\x01\x1b[31m\" {};/* */ \xff");
  const std::uint32_t odd =
      builder.AddSegment("a\"b", "c\\d\x01\x1b{};", "sud");
  builder.Cpu(0).Dispatch(10, 1, 2, 3, {1, 2, 3, 4, 5, 6, 7, 8, ~0ull});
  builder.Thread(1, 2).Enter(odd, 20, {"x\n\"", std::uint64_t{1}, 0.5},
                             test_support::Dump{1, 7, {1, 2, 3}});
  builder.Thread(1, 2).Exit(odd, 30);
  builder.Finish();
  CheckAgreement(temp / "t");
}

// babeltrace2 prints the set's number by its name in the enumeration.
std::string WithoutMmcr(const std::string& line) {
  static const std::regex kNamed("\\( \"set_(\\d+)\" : container = \\1 \\)");
  return std::regex_replace(line, kNamed, "$1");
}

TEST_CASE("babeltrace2 names the events of each event set",
          "[logformat][babeltrace]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  builder.SetCpuEvents({"task-clock", "cycles", "instructions", "cache-misses"},
                       {2, 1});
  builder.SetThreadEvents({"cycles", "page-faults", "r01c2"}, {1, 2});
  const std::uint32_t irq = builder.AddKernelHook("interrupt", "irq", "disk");
  const std::uint32_t hook = builder.AddSegment("p", "n", "u");
  auto& cpu = builder.Cpu(0);
  cpu.SetEventSet(0, 0xf);
  cpu.Counters(10, CountersReason::kBegin, 5, {1, 2, 3, 4});
  cpu.Dispatch(20, 5, 0, 1, {11, 12, 13, 14});
  cpu.Counters(30, CountersReason::kSetEnd, 0, {21, 22, 23, 24});
  cpu.SetEventSet(1, 0xf);
  cpu.Counters(31, CountersReason::kSetBegin, 0, {22, 5, 0, 6});
  cpu.KernelHook(
      40, static_cast<std::uint16_t>(irq * 2 | kEventExitBit | kEventDumpBit),
      5, {30, 7, 0, 8}, 1);
  cpu.KernelHook(41, static_cast<std::uint16_t>(irq * 2), 5, {}, {});
  builder.Thread(1, 2).Enter(hook, 20, {std::uint64_t{9}},
                             test_support::Dump{0, 1, {7, 0}});
  builder.Thread(1, 2).Exit(hook, 30, test_support::Dump{1, 3, {1, 2}});
  const bool finished = GENERATE(true, false);
  if (finished) {
    builder.Finish();
  } else {
    builder.Abandon();
    REQUIRE(FinishTrace(temp / "t", {}).ok());
  }

  const BabeltraceRun theirs = RunBabeltrace(temp / "t");
  CHECK(theirs.status == 0);
  CHECK(theirs.errors == "");
  std::vector<Line> ours = OurLines(temp / "t");
  REQUIRE(theirs.lines.size() == ours.size());
  REQUIRE(ours.size() == 8);
  std::vector<std::string> their_texts, our_texts;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    CHECK(theirs.lines[i].first == ours[i].first);
    their_texts.push_back(WithoutMmcr(theirs.lines[i].second));
    our_texts.push_back(WithoutMmcr(ours[i].second));
  }
  std::sort(their_texts.begin(), their_texts.end());
  std::sort(our_texts.begin(), our_texts.end());
  CHECK(their_texts == our_texts);
  CHECK(
      ours.front().second ==
      "counters: { reason = 0, running_tid = 5, mmcr = 0, present = 15, "
      "task_clock = 1, set = { { cycles = 2, instructions = 3, time_running = "
      "4 } } }");
  CHECK(std::count(our_texts.begin(), our_texts.end(),
                   "irq:disk__exit: { tid = 5, pid = 0, number = 0, mmcr = 1, "
                   "present = 15, task_clock = 30, set = { { cache_misses = 7, "
                   "unused_1 = 0, "
                   "time_running = 8 } }, ret = 1 }") == 1);
  CHECK(
      std::count(our_texts.begin(), our_texts.end(),
                 "p:n__exit: { mmcr = 1, present = 3, set = { { page_faults = "
                 "1, r01c2 = 2 } } }") == 1);

  const auto info = (*TraceReader::Open(temp / "t"))->info();
  CHECK(info.cpu_set_sizes == std::vector<std::size_t>{2, 1});
  CHECK(info.thread_set_sizes == std::vector<std::size_t>{1, 2});
  CHECK(info.cpu_event_configs.size() == 4);
}

TEST_CASE("babeltrace2 names the events of as many sets as there may be",
          "[logformat][babeltrace]") {
  constexpr std::uint32_t kSets = 64;
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  std::vector<std::string> names = {"task-clock"};
  for (std::uint32_t set = 0; set < kSets; ++set) {
    for (const char* of : {"a", "b", "c"}) {
      names.push_back(of + std::to_string(set));
    }
  }
  builder.SetCpuEvents(names, std::vector<std::uint32_t>(kSets, 3));
  auto& cpu = builder.Cpu(0);
  for (std::uint32_t set = 0; set < kSets; ++set) {
    cpu.SetEventSet(set, 0x1f);
    cpu.Counters(10 + set,
                 set == 0 ? CountersReason::kBegin : CountersReason::kSetBegin,
                 5, {1, 2, 3, 4, 5});
  }
  builder.Finish();
  const BabeltraceRun theirs = RunBabeltrace(temp / "t");
  CHECK(theirs.status == 0);
  CHECK(theirs.errors == "");
  const std::vector<Line> ours = OurLines(temp / "t");
  REQUIRE(theirs.lines.size() == kSets);
  REQUIRE(ours.size() == kSets);
  for (std::uint32_t set = 0; set < kSets; ++set) {
    CAPTURE(set);
    CHECK(WithoutMmcr(theirs.lines[set].second) ==
          WithoutMmcr(ours[set].second));
    CHECK(ours[set].second.find("set = { { a" + std::to_string(set) + " = 2") !=
          std::string::npos);
  }
}

TEST_CASE("babeltrace2 reads a trace with a narrow counter",
          "[logformat][babeltrace]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  builder.SetCpuEvents({"cycles"});
  builder.Cpu(0).Dispatch(10, 0, 5, 1, {7});
  builder.Finish();
  std::stringstream metadata;
  metadata << std::ifstream(temp / "t/metadata").rdbuf();
  std::string text = metadata.str();
  const std::size_t event = text.find("\tcpu_event_0 = ");
  REQUIRE(event != std::string::npos);
  text.insert(event,
              "\tcpu_event_width_0 = 32;\n\tcpu_event_rate_0 = 66000000;\n");
  std::ofstream(temp / "t/metadata") << text;
  const BabeltraceRun run = RunBabeltrace(temp / "t");
  CHECK(run.status == 0);
  CHECK(run.errors == "");
  CHECK(run.lines.size() == 1);
  const auto info = (*TraceReader::Open(temp / "t"))->info();
  REQUIRE(info.cpu_counter_limits.size() == 1);
  CHECK(info.cpu_counter_limits[0] == CounterLimit{32, 66'000'000});
}

TEST_CASE("babeltrace2 reads a trace without a single record",
          "[logformat][babeltrace]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  builder.Thread(1, 2);  // a stream file of 0 bytes
  builder.session().realtime_offset_ns = -1;
  for (std::uint8_t& byte : builder.session().boot_id) byte = 0;
  builder.Finish();
  const BabeltraceRun run = RunBabeltrace(temp / "t");
  CHECK(run.status == 0);
  CHECK(run.errors == "");
  CHECK(run.lines.empty());
}

TEST_CASE("babeltrace2 reports the same losses", "[logformat][babeltrace]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  const std::uint32_t hook = builder.AddPoint("p", "n");
  auto& stream = builder.Thread(1, 2);
  stream.Point(hook, 10);
  stream.writer().CountDiscarded(DiscardCause::kTraceFull, 1234);
  stream.Point(hook, 20);
  stream.writer().CountDiscarded(DiscardCause::kDiskFull, 567);
  builder.Finish();
  const BabeltraceRun run = RunBabeltrace(temp / "t");
  CHECK(run.status == 0);
  CHECK(run.lines.size() == 2);
  CHECK_THAT(run.errors,
             Catch::Matchers::Contains("Tracer discarded 1234 events") &&
                 Catch::Matchers::Contains("Tracer discarded 567 events"));
}

}  // namespace
}  // namespace countrace::logformat
