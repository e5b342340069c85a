// Write, then read: the result equals the input, in time order.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "logformat/description/metadata_reader.h"
#include "logformat/description/metadata_writer.h"
#include "logformat/description/recorded_part.h"
#include "logformat/description/session_files.h"
#include "logformat/description/trace_description.h"
#include "logformat/read/trace_reader.h"
#include "logformat/records.h"
#include "logformat/trace_info.h"
#include "tests/logformat/trace_generator.h"
#include "tests/support/property_runs.h"
#include "tests/support/trace_builder.h"

namespace countrace::logformat {
namespace {

using test_support::PropertyRuns;
using test_support::TempDirectory;
using test_support::TraceBuilder;

std::map<std::string, std::vector<PlainRecord>> ByStream(
    const std::vector<PlainRecord>& records) {
  std::map<std::string, std::vector<PlainRecord>> streams;
  for (const PlainRecord& record : records) {
    streams[record.stream].push_back(record);
  }
  return streams;
}

TEST_CASE("round_trip: every record is read as it was written, in order",
          "[logformat][property]") {
  const auto seed = GENERATE(range(0u, PropertyRuns(25u)));
  CAPTURE(seed);
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  const GeneratedTrace written = Generate(builder, seed, {});
  const bool finished = seed % 2 == 0;
  if (finished) {
    const FinishResult result = builder.Finish();
    CHECK(result.records == written.records.size());
    CHECK(result.messages.empty());
    CHECK(result.discarded == written.discarded);
  } else {
    builder.Abandon();
  }
  std::unique_ptr<TraceReader> reader;
  const Collector read = ReadAll(temp / "t", reader);
  CHECK(reader->info().finished == finished);
  if (!read.packet_losses.empty()) FAIL_CHECK(read.packet_losses[0].reason);
  CHECK(read.packet_losses.empty());
  CHECK(read.discarded == written.discarded);
  CHECK(read.records.size() == written.records.size());
  CHECK(ByStream(read.records) == ByStream(written.records));
  for (std::size_t i = 1; i < read.records.size(); ++i) {
    const auto before =
        std::make_pair(read.records[i - 1].time_ns, read.streams[i - 1]);
    REQUIRE(before <= std::make_pair(read.records[i].time_ns, read.streams[i]));
  }
}

TEST_CASE("round_trip: a second read delivers the same", "[logformat]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  Generate(builder, 7, {});
  builder.Finish();
  std::unique_ptr<TraceReader> reader;
  const Collector first = ReadAll(temp / "t", reader);
  Collector second(*reader);
  REQUIRE(reader->Read(second).ok());
  CHECK(first.records == second.records);
  CHECK(first.event_losses.size() == second.event_losses.size());
}

TEST_CASE("round_trip: losses lie between the right records", "[logformat]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  const std::uint32_t hook = builder.AddPoint("p", "n");
  auto& stream = builder.Thread(1, 2);
  stream.Point(hook, 100);
  stream.writer().CountDiscarded(DiscardCause::kNoSubBuffer, 3);
  stream.writer().CountDiscarded(DiscardCause::kTraceFull, 4);
  stream.Point(hook, 200);
  stream.Point(hook, 300);
  stream.writer().CountDiscarded(DiscardCause::kNoSubBuffer, 1);
  builder.Finish();
  std::unique_ptr<TraceReader> reader;
  const Collector read = ReadAll(temp / "t", reader);
  REQUIRE(read.event_losses.size() == 2);
  const DiscardedEvents& first = read.event_losses[0];
  CHECK(first.count == 7);
  CHECK(first.by_cause[0] == 3);
  CHECK(first.by_cause[1] == 4);
  CHECK(first.begin_ns == 100);
  CHECK(first.end_ns == 200);
  CHECK(first.pid == 1);
  CHECK(first.tid == 2);
  const DiscardedEvents& second = read.event_losses[1];
  CHECK(second.count == 1);
  CHECK(second.begin_ns == 300);
}

TEST_CASE("round_trip: the description survives finishing", "[logformat]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  builder.SetCpuEvents({"task-clock", "a\"b\\c\n"});
  builder.SetThreadEvents({"page-faults"});
  builder.AddSegment("server", "handle", "us");
  builder.AddPoint("server", "a:b\"c\\d", "idp", 5);
  SessionControl& session = builder.session();
  session.scope = SessionScope::kCommand;
  session.root_pid = 4711;
  session.begin_ns = 123'456'789'012;
  session.realtime_offset_ns = -5;
  session.discarded_by_cause[2] = 17;
  session.last_errno = 28;
  session.late_sub_buffers = 3;
  session.dump_rule_count = 2;
  std::strcpy(session.dump_rules[0].text, "server:handle if arg1 == \"x\\\"\"");
  std::strcpy(session.dump_rules[1].text, "* every 100");
  std::unique_ptr<TraceReader> before, after;
  ReadAll(temp / "t", before);
  builder.Finish();
  ReadAll(temp / "t", after);
  const TraceInfo& a = before->info();
  const TraceInfo& b = after->info();
  CHECK_FALSE(a.finished);
  CHECK(b.finished);
  CHECK(a.uuid == b.uuid);
  CHECK(a.boot_id == b.boot_id);
  CHECK(b.scope == SessionScope::kCommand);
  CHECK(b.root_pid == 4711);
  CHECK(b.begin_ns == 123'456'789'012);
  CHECK(b.realtime_offset_ns == -5);
  CHECK(b.hostname == "testhost");
  CHECK(b.command == "./server --bench");
  CHECK(b.cpu_events == std::vector<std::string>{"task-clock", "a\"b\\c\n"});
  CHECK(b.thread_events == std::vector<std::string>{"page-faults"});
  CHECK(a.dump_rules == b.dump_rules);
  CHECK(b.dump_rules ==
        std::vector<std::string>{"server:handle if arg1 == \"x\\\"\"",
                                 "* every 100"});
  REQUIRE(b.hooks.size() == 2);
  CHECK(b.hooks[0].id == 5);
  CHECK(b.hooks[0].FullName() == "server:a:b\"c\\d");
  CHECK(b.hooks[0].kind == HookKind::kPoint);
  CHECK(b.hooks[1].location == "test.cc:1");
  CHECK(b.FindHook(kHookIdAutomaticMin)->name == "handle");
  CHECK(b.FindHook(6) == nullptr);
  CHECK(after->session_discarded()[2] == 17);
  CHECK(after->session_last_errno() == 28);
  CHECK(after->late_sub_buffers() == 3);
}

TEST_CASE("merge: 2,000 streams come out in time order", "[logformat]") {
  constexpr std::int32_t kStreams = 2000;
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  builder.SetPacketBytes(2 * kPacketAlignBytes);
  const std::uint32_t hook = builder.AddPoint("p", "n", "u");
  for (std::uint64_t round = 0; round < 5; ++round) {
    for (std::int32_t i = 0; i < kStreams; ++i) {
      // Ties between streams, and streams that run ahead of others.
      const std::uint64_t time =
          round * 1000 + static_cast<std::uint64_t>((i * 7919) % 1000);
      REQUIRE(builder.Thread(1, i).Point(hook, time, {round}));
    }
  }
  builder.Finish();
  std::unique_ptr<TraceReader> reader;
  const Collector read = ReadAll(temp / "t", reader);
  REQUIRE(read.records.size() == 5 * kStreams);
  for (std::size_t i = 1; i < read.records.size(); ++i) {
    REQUIRE(std::make_pair(read.records[i - 1].time_ns, read.streams[i - 1]) <
            std::make_pair(read.records[i].time_ns, read.streams[i]));
  }
}

TEST_CASE("reader: progress can stop a read", "[logformat]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  Generate(builder, 3, {});
  builder.Finish();
  auto reader = TraceReader::Open(temp / "t");
  REQUIRE(reader.ok());
  Collector collector(**reader);
  const absl::Status status =
      (*reader)->Read(collector, [](const Progress& progress) {
        REQUIRE(progress.done <= progress.total);
        return false;
      });
  CHECK(absl::IsCancelled(status));
}

TEST_CASE("metadata: text and description are each other's inverse",
          "[logformat][property]") {
  TraceDescription description;
  description.from_metadata = true;
  TraceInfo& info = description.info;
  info.path = "t";
  info.uuid[3] = 0xab;
  info.hostname = "a\tb\"c\\\x01\x7f\xc3\xa4\xff";
  info.command = std::string(300, '"');
  info.cpu_events = {"int", "01c", "a-b", "a:b", "prev_tid"};
  HookInfo hook;
  for (std::uint32_t id = 1; id < 300; ++id) {
    hook.id = id;
    hook.provider = "p" + std::to_string(id % 7);
    hook.name = "\n{};/*";
    hook.location = "a.cc:1";
    hook.payload.assign(id % 7, PayloadType::kString);
    info.hooks.push_back(hook);
  }
  const std::string text = MetadataText(description);
  const auto parsed = ParseMetadata(text, "t");
  INFO(parsed.status());
  REQUIRE(parsed.ok());
  CHECK(MetadataText(*parsed) == text);
  CHECK(parsed->info.hostname == info.hostname);
  CHECK(parsed->info.hooks.size() == info.hooks.size());
  // A cut at any byte is an error, never a different description.
  const std::size_t step = text.size() / PropertyRuns(text.size() / 13);
  for (std::size_t bytes = 0; bytes + 3 < text.size(); bytes += step) {
    CAPTURE(bytes);
    CHECK_FALSE(ParseMetadata(text.substr(0, bytes), "t").ok());
  }
}

}  // namespace
TEST_CASE("round_trip: names of processes, from .hooks to metadata and back",
          "[logformat]") {
  TraceDescription description;
  ParseHooks(
      "0\tprocess\t12\tredis \"x\\ y\n"
      "4096\tpoint\t-\ta:b\tc.cc:1\n"
      "0\tprocess\t12\tagain\n"
      "0\tprocess\t007\tno\n"
      "0\tprocess\t-3\tno\n"
      "0\tprocess\t5\tno\ttabs\n"
      "0\tprocess\t9",
      description);
  const std::vector<ProcessName>& processes = description.info.processes;
  REQUIRE(processes.size() == 2);
  CHECK(processes[0].pid == 12);
  CHECK(processes[0].comm == "redis \"x\\ y");
  CHECK(processes[1].comm == "again");
  CHECK(description.info.hooks.size() == 1);
  CHECK(description.messages.size() == 4);  // three damaged lines, a cut one
  const auto again = ParseMetadata(MetadataText(description), "test");
  REQUIRE(again.ok());
  REQUIRE(again->info.processes.size() == 2);
  CHECK(again->info.processes[0].comm == processes[0].comm);
  CHECK(MetadataText(*again) == MetadataText(description));
}

TEST_CASE(
    "round_trip: costs of kernel hooks, from .kernel_hooks to metadata and "
    "back",
    "[logformat]") {
  TraceDescription description;
  ParseHooks(
      "12288\tkernel-segment\t-\tkfunc:a\tx\n"
      "12288\tcost\t2 1 3 20 10 30\n"
      "12289\tkernel-point\t-\tkfunc:b\tx\n"
      "12288\tcost\t2 1 3 20 10 30\n"  // not behind its hook
      "12290\tkernel-segment\t-\tkfunc:c\tx\n"
      "12290\tcost\t2 1 3 20 10\n"
      "12291\tprobe-segment\t-\tp:d\tx\t5 5 5 5 5 5\n"
      "12291\tcost\t2 1 3 20 10 30\n",  // a probe's is in its line
      description);
  const std::vector<HookInfo>& hooks = description.info.hooks;
  REQUIRE(hooks.size() == 4);
  CHECK(hooks[0].probe_cost == ProbeCost{{2, 1, 3}, {20, 10, 30}});
  CHECK_FALSE(hooks[1].probe_cost);
  CHECK_FALSE(hooks[2].probe_cost);
  CHECK(hooks[3].probe_cost == ProbeCost{{5, 5, 5}, {5, 5, 5}});
  CHECK(description.messages.size() == 3);
  const std::string text = MetadataText(description);
  const auto again = ParseMetadata(text, "test");
  REQUIRE(again.ok());
  CHECK(again->info.hooks[0].probe_cost == hooks[0].probe_cost);
  CHECK_FALSE(again->info.hooks[1].probe_cost);
  CHECK(again->info.hooks[3].probe_cost == hooks[3].probe_cost);
  CHECK(MetadataText(*again) == text);
}

TEST_CASE("round_trip: names of owners, from .owners to metadata and back",
          "[logformat]") {
  TraceDescription description;
  ParseOwners("user\t0\troot\n" + CgroupText(77, "/a \"b\\\n/c") +
                  "\ncgroup\t18446744073709551615\t\nuser\t4294967294\tx\n"
                  "cgroup\t5\t/to",
              description);
  const TraceInfo& info = description.info;
  CHECK(description.messages.empty());  // the last line was not complete
  REQUIRE(info.users.size() == 2);
  CHECK(info.users.at(0) == "root");
  CHECK(info.users.at(4294967294u) == "x");
  REQUIRE(info.cgroups.size() == 2);
  CHECK(info.cgroups.at(77) == "/a \"b\\?/c");
  CHECK(info.cgroups.at(~std::uint64_t{0}).empty());
  const auto again = ParseMetadata(MetadataText(description), "test");
  REQUIRE(again.ok());
  CHECK(again->info.users == info.users);
  CHECK(again->info.cgroups == info.cgroups);
  CHECK(MetadataText(*again) == MetadataText(description));
  for (const char* damaged :
       {"user\tx\ta\n", "user\t4294967296\ta\n", "group\t1\ta\n", "\n",
        "user\t1\ta\tb\n", "user\t1\n", "user\t\ta\n"}) {
    CAPTURE(damaged);
    TraceDescription none;
    ParseOwners(damaged, none);
    ParseOwners("cgroup\t5\t/a\n", none);
    CHECK(none.info.cgroups.size() == 1);
    CHECK(none.info.users.size() == (std::string(damaged) == "user\t1\n"));
  }
}

TEST_CASE("round_trip: triggers, from .triggers to metadata and back",
          "[logformat]") {
  const TriggerFiring firing{123456789, "segment a:b > 20ms",
                             "a:b took 23.1 ms in tid 7 (\"x\\\ty)"};
  TraceDescription description;
  ParseTriggers(TriggerText(firing) + "\n18446744073709551615\thook *\tw\n",
                description);
  const std::vector<TriggerFiring>& triggers = description.info.triggers;
  REQUIRE(triggers.size() == 2);
  CHECK(description.messages.empty());
  CHECK(triggers[0].time_ns == firing.time_ns);
  CHECK(triggers[0].trigger == firing.trigger);
  CHECK(triggers[0].what == "a:b took 23.1 ms in tid 7 (\"x\\?y)");
  CHECK(triggers[1].time_ns == ~std::uint64_t{0});
  const auto again = ParseMetadata(MetadataText(description), "test");
  REQUIRE(again.ok());
  REQUIRE(again->info.triggers.size() == 2);
  CHECK(again->info.triggers[0].what == triggers[0].what);
  CHECK(MetadataText(*again) == MetadataText(description));
  for (const char* damaged :
       {"1\ta", "1\ta\tb", "x\ta\tb\n", "01\ta\tb\n", "1\t\tb\n",
        "1\ta\tb\tc\n", "99999999999999999999\ta\tb\n", "\n"}) {
    CAPTURE(damaged);
    TraceDescription none;
    ParseTriggers(damaged, none);
    CHECK(none.info.triggers.empty());
    CHECK(none.messages.size() == 1);
  }
}

TEST_CASE("round_trip: the part of a trace that was asked for", "[logformat]") {
  const std::string waits =
      "18446744073709551615\thook a:b then start\tnot reached\n";
  const std::string begun = "500\thook a:b then start\treached\n";
  const std::string other = "400\thook a:b\treached\n";
  const auto part = [](const std::string& text) {
    TraceDescription description;
    ParseTriggers(text, description);
    const auto again = ParseMetadata(MetadataText(description), "test");
    REQUIRE(again.ok());
    CHECK(PartBeginNs(again->info) == PartBeginNs(description.info));
    const bool newest = again->info.format == kPartFormatVersion;
    CHECK(newest == (PartBeginNs(again->info) != 0));
    return std::pair(PartBeginNs(again->info), again->info.triggers.size());
  };
  CHECK(part("") == std::pair(std::uint64_t{0}, std::size_t{0}));
  CHECK(part(other) == std::pair(std::uint64_t{0}, std::size_t{1}));
  CHECK(part(waits) == std::pair(kNotReached, std::size_t{1}));
  CHECK(part(waits + other) == std::pair(kNotReached, std::size_t{2}));
  CHECK(part(waits + other + begun) ==
        std::pair(std::uint64_t{500}, std::size_t{2}));
  // A part that has not begun is behind all records.
  TraceInfo info;
  info.begin_ns = 70;
  info.triggers = {{kNotReached, "hook a:b then start", "not reached"}};
  CHECK(PartBeginNs(info, 900) == 901);
  CHECK(PartBeginNs(info, 0) == 71);
}

TEST_CASE("round_trip: pauses, from .triggers to metadata and back",
          "[logformat]") {
  const auto pauses = [](const std::string& text) {
    TraceDescription description;
    ParseTriggers(text, description);
    const auto again = ParseMetadata(MetadataText(description), "test");
    REQUIRE(again.ok());
    CHECK(again->info.pauses == description.info.pauses);
    CHECK(again->info.triggers.size() == description.info.triggers.size());
    CHECK((again->info.format == kPauseFormatVersion) ==
          !again->info.pauses.empty());
    return again->info;
  };
  const std::string pause = "\thook a:b then pause\twhat\n";
  const std::string resume = "\thook c:d then resume\twhat\n";
  CHECK(pauses("5" + resume).pauses.empty());
  CHECK(pauses("5" + pause + "5" + resume).pauses.empty());
  CHECK(
      pauses("5" + pause + "9" + resume + "9" + pause + "12" + resume).pauses ==
      std::vector<TimeSpan>{{5, 12}});
  CHECK(pauses("5" + pause).pauses == std::vector<TimeSpan>{{5, kNotReached}});
  const TraceInfo info =
      pauses("5" + pause + "6" + pause + "9" + resume + "12" + resume + "8" +
             pause + "20" + pause + "19" + resume + "23" + resume);
  CHECK(info.pauses == std::vector<TimeSpan>{{5, 9}, {20, 23}});
  CHECK(info.triggers.size() == 2);
  CHECK(PausesIn(info, 7, 22) == std::vector<TimeSpan>{{7, 9}, {20, 22}});
  CHECK(PausesIn(info, 9, 20).empty());
  CHECK(PauseAt(info, 4) == nullptr);
  CHECK(PauseAt(info, 5) == &info.pauses[0]);
  CHECK(PauseAt(info, 9) == nullptr);
  CHECK(PauseAt(info, 22) == &info.pauses[1]);
  CHECK(PausesText(0, 0).empty());
  CHECK(PausesText(2, 7) == "left out: 2 pauses, together 7 ns");
  std::string many;
  for (std::size_t i = 1; i <= kMostPauses + 10; ++i) {
    many += std::to_string(4 * i) + pause + std::to_string(4 * i + 1) + resume;
  }
  CHECK(pauses(many).pauses.size() == kMostPauses);
  for (const char* bad :
       {"", "5", "5 ", "9 5", "5 5", " 5 9", "5 9 ", "5\t9", "-5 9", "5 +9"}) {
    CAPTURE(bad);
    std::vector<TimeSpan> none;
    CHECK_FALSE(ParsePauses({bad}, none));
  }
  std::vector<TimeSpan> none;
  CHECK_FALSE(ParsePauses({"5 9", "9 12"}, none));
}

}  // namespace countrace::logformat
