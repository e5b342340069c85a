// The text of a hook in metadata and `.kernel_hooks`, with the cost of a probe.
#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <string>

#include "logformat/block_point.h"
#include "logformat/description/metadata_reader.h"
#include "logformat/description/metadata_writer.h"
#include "logformat/description/number_names.h"
#include "logformat/description/session_files.h"
#include "logformat/description/trace_description.h"
#include "logformat/event_schema.h"

namespace countrace::logformat {
namespace {

constexpr std::uint32_t kId = kHookIdKernelMin;
const std::string kProbe = "probe-segment\t-\tprog:f\t/bin/prog+0x10";

TEST_CASE("hook text: a probe's cost is read as it was written",
          "[logformat]") {
  std::mt19937 random(7);
  for (int i = 0; i < 1000; ++i) {
    HookInfo hook;
    hook.id = kId;
    hook.kind = i % 2 == 0 ? HookKind::kSegment : HookKind::kPoint;
    hook.origin = HookOrigin::kProbe;
    hook.provider = "prog";
    hook.name = "ns::f(int, char)";
    hook.location = "/bin/a file+0x10";
    if (i % 3 != 0) {
      hook.probe_cost.emplace();
      for (ProbeCost::Range* range :
           {&hook.probe_cost->inside, &hook.probe_cost->outside}) {
        const auto number = [&] {
          return static_cast<std::uint32_t>(random() % 1000);
        };
        range->lo = number();
        range->ns = range->lo + number();
        range->hi =
            random() % 4 == 0 ? ProbeCost::kUnknown : range->ns + number();
      }
    }
    const std::string text = HookText(hook);
    const auto read = ParseHookText(kId, text);
    CAPTURE(text);
    REQUIRE(read);
    CHECK(read->probe_cost == hook.probe_cost);
    CHECK(read->location == hook.location);
    CHECK(read->FullName() == hook.FullName());
    CHECK(HookText(*read) == text);
  }
}

TEST_CASE("hook text: a cost that is none is refused", "[logformat]") {
  REQUIRE(ParseHookText(kId, kProbe));
  REQUIRE(ParseHookText(kId, kProbe + "\t2 1 3 20 10 30"));
  for (const char* cost :
       {"", "2", "2 1 3 20 10", "2 1 3 20 10 30 4", "2 1 3 20 10 30 ",
        "2  1 3 20 10 30", "2 1 3 20 10 -30", "0 1 3 20 10 30",
        "4 1 3 20 10 30", "2 1 3 20 10 4294967296", "x", "2 1 3 20 10 30\t"}) {
    CAPTURE(cost);
    CHECK_FALSE(ParseHookText(kId, kProbe + "\t" + cost));
  }
  CHECK_FALSE(ParseHookText(
      kId, "kernel-segment\t-\tsyscall:read\tsyscall:0\t2 1 3 20 10 30"));
}

TEST_CASE("hook text: only a kernel point of block requests is one",
          "[logformat]") {
  const std::string head = "kernel-point\tuus\tblock:rq\ttracepoint";
  const auto block = ParseHookText(kId, head + "\tsector,bytes,device");
  const auto other = ParseHookText(kId, head + "\tsector,bytes,name");
  REQUIRE(block);
  REQUIRE(other);
  CHECK(IsBlockPoint(*block));
  CHECK_FALSE(IsBlockPoint(*other));
  HookInfo program = *block;
  program.origin = HookOrigin::kProgram;
  CHECK_FALSE(IsBlockPoint(program));
}

TEST_CASE("hook text: a kernel point's values have names", "[logformat]") {
  const std::string head = "kernel-point\tuus\tblock:rq\ttracepoint";
  const auto read = ParseHookText(kId, head + "\tsector,bytes,device");
  REQUIRE(read);
  CHECK(read->payload_names ==
        std::vector<std::string>{"sector", "bytes", "device"});
  CHECK(read->payload.size() == 3);
  CHECK(HookText(*read) == head + "\tsector,bytes,device");
  for (const char* names :
       {"", "\t", "\tsector,bytes", "\tsector,bytes,device,x", "\ta,,b",
        "\ta,b,a", "\ta,b,c ", "\ta,b,-", "\ta,b,c\td", "\t2 1 3 20 10 30"}) {
    CAPTURE(names);
    CHECK_FALSE(ParseHookText(kId, head + names));
  }
  CHECK_FALSE(ParseHookText(kId, "kernel-segment\tu\tblock:rq\tt\ta"));
  CHECK_FALSE(ParseHookText(kId, "kernel-point\t-\tblock:rq\tt\ta"));
}

TEST_CASE("hook text: names of numbers are read as they were written",
          "[logformat]") {
  const std::string line = "12288\tkernel-segment\tus/ip\tp:f\tat\ta,b,c,d\n";
  const std::vector<std::string> names = {
      "12288\tnumbers\t0\t0 ffffffffffffffff\t3=A|B =C\t1=A",
      "12288\tnumbers\t2\tf 1f\t1=one\tfffffffe=less"};
  TraceDescription description;
  description.info.format = kFormatVersion;
  ParseHooks(line + names[0] + '\n' + names[1] + '\n' + names[1] + '\n' +
                 "12289\tnumbers\t0\tf 1f\t1=x\n" +
                 "12288\tnumbers\t1\tf 1f\t1=cut",
             description);
  // One for what is named twice, of no hook, and cut.
  CHECK(description.messages.size() == 3);
  REQUIRE(description.info.hooks.size() == 1);
  CHECK(NumberNamesTexts(description.info.hooks) == names);
  const std::string text = MetadataText(description);
  const auto read = ParseMetadata(text, "");
  REQUIRE(read.ok());
  CHECK(NumberNamesTexts(read->info.hooks) == names);
  CHECK(MetadataText(*read) == text);
  for (const EventClass& event : EventClasses(read->info)) {
    for (const EventField& field : event.fields) {
      CHECK((field.names != nullptr) ==
            (field.name == "a" || field.name == "c"));
    }
  }
  std::string changed = text;
  changed.replace(changed.find("=one"), 4, "\\001ne");
  CHECK_FALSE(ParseMetadata(changed, "").ok());
}

TEST_CASE("hook text: names that are none are refused", "[logformat]") {
  const auto hook =
      ParseHookText(kId, "kernel-segment\tus/ip\tp:f\tat\ta,b,c,d");
  const auto program = ParseHookText(4096, "segment\tu\tp:f\tat");
  REQUIRE(hook);
  REQUIRE(program);
  std::vector<HookInfo> hooks = {*program, *hook};
  const std::string first = "12288\tnumbers\t0\t", good = "0 ff\t1=A";
  std::string many = first + "0 ff";
  for (std::size_t i = 0; i <= kMaxNumberNames; ++i) many += "\t1=A";
  const std::string longer =
      first + "0 ff\t1=" + std::string(kMaxNumberName + 1, 'a');
  for (const std::string& text : {std::string(),
                                  many,
                                  longer,
                                  first,
                                  first + "0 ff",
                                  first + "0 ff\t",
                                  first + "0\t1=A",
                                  first + "0 fg\t1=A",
                                  first + "0 ff\t1=",
                                  first + "0 ff\t=A",
                                  first + "0 ff\tA",
                                  first + "0 ff\t1=\x1b[2J",
                                  first + "0 ff\t1=\xc3\xa9",
                                  first + "0 1ffffffffffffffff\t1=A",
                                  "12288\tnumbers\t1\t" + good,  // a text
                                  "12288\tnumbers\t3\t" + good,  // a pointer
                                  "12288\tnumbers\t4\t" + good,
                                  "12288\tnumbers\t-1\t" + good,
                                  "12289\tnumbers\t0\t" + good,
                                  "12288\tnumber\t0\t" + good,
                                  "4096\tnumbers\t0\t" + good}) {
    CAPTURE(text);
    CHECK_FALSE(ParseNumberNamesText(text, hooks));
  }
  CHECK(ParseNumberNamesText(first + good, hooks));
  CHECK_FALSE(ParseNumberNamesText(first + good, hooks));
}

TEST_CASE("hook text: values of kernel hooks are read as they were written",
          "[logformat]") {
  std::mt19937 random(8);
  const auto below = [&](unsigned n) {
    return static_cast<unsigned>(random() % n);
  };
  const auto fill = [&](std::vector<PayloadType>& types,
                        std::vector<std::string>& names) {
    const unsigned count = below(kMaxPayloadValues + 1);
    for (unsigned i = 0; i < count; ++i) {
      types.push_back(static_cast<PayloadType>(1 + below(5)));
      names.push_back("v" + std::to_string(i));
    }
  };
  for (int i = 0; i < 2000; ++i) {
    HookInfo hook;
    hook.id = kId;
    hook.kind = below(2) == 0 ? HookKind::kSegment : HookKind::kPoint;
    hook.origin = below(2) == 0 ? HookOrigin::kProbe : HookOrigin::kKernel;
    hook.provider = "p";
    hook.name = "f";
    hook.location = "at";
    fill(hook.payload, hook.payload_names);
    if (hook.kind == HookKind::kSegment) {
      fill(hook.exit_payload, hook.exit_payload_names);
    }
    if (hook.origin == HookOrigin::kProbe && below(2) == 0) {
      hook.probe_cost.emplace();
    }
    const std::string text = HookText(hook);
    CAPTURE(text);
    const auto read = ParseHookText(kId, text);
    REQUIRE(read);
    CHECK(read->payload == hook.payload);
    CHECK(read->payload_names == hook.payload_names);
    CHECK(read->exit_payload == hook.exit_payload);
    CHECK(read->exit_payload_names == hook.exit_payload_names);
    CHECK(read->probe_cost == hook.probe_cost);
    CHECK(HookText(*read) == text);
    // Older readers refuse it by its version if they would misread it.
    TraceDescription description;
    description.info.hooks = {hook};
    const std::string metadata = MetadataText(description);
    const auto again = ParseMetadata(metadata, "trace");
    REQUIRE(again.ok());
    CHECK(MetadataText(*again) == metadata);
    const bool values = hook.payload.size() + hook.exit_payload.size() != 0;
    const bool kernel_point =
        hook.kind == HookKind::kPoint && hook.origin == HookOrigin::kKernel;
    CHECK(again->info.format ==
          (values && !kernel_point ? kFormatVersion : kFewEventsVersion));
  }
}

TEST_CASE("hook text: a level is a point to who does not know levels",
          "[logformat]") {
  const std::string line = "4096\tpoint\tu\tshop:cold\tshop.cc:7\n";
  for (const char* scope : {"thread", "process", "machine"}) {
    CAPTURE(scope);
    TraceDescription description;
    ParseHooks(line + "0\tlevel\t4096\t" + scope + "\n", description, ".hooks");
    REQUIRE(description.info.hooks.size() == 1);
    CHECK(description.messages.empty());
    const HookInfo& hook = description.info.hooks[0];
    CHECK(LevelScopeName(hook.level) == std::string(scope));
    CHECK(hook.payload_names == std::vector<std::string>{"on"});
    CHECK(HookText(hook) == "point\tu\tshop:cold\tshop.cc:7");
    const std::string metadata = MetadataText(description);
    const auto read = ParseMetadata(metadata, "trace");
    REQUIRE(read.ok());
    CHECK(read->info.format == kFewEventsVersion);
    CHECK(read->info.hooks[0].level == hook.level);
    CHECK(MetadataText(*read) == metadata);
  }
  for (const char* damaged :
       {"0\tlevel\t4096\tplanet\n", "0\tlevel\t4097\tthread\n",
        "0\tlevel\t4096\n", "0\tlevel\t\tthread\n"}) {
    CAPTURE(damaged);
    TraceDescription description;
    ParseHooks(line + damaged, description, ".hooks");
    CHECK(description.messages.size() == 1);
    REQUIRE(description.info.hooks.size() == 1);
    CHECK(description.info.hooks[0].level == LevelScope::kNone);
  }
  HookInfo segment;
  segment.kind = HookKind::kSegment;
  CHECK_FALSE(SetLevel("thread", segment));
}

TEST_CASE("hook text: values that a kernel hook cannot have", "[logformat]") {
  const std::string end = "\tp:f\tat";
  REQUIRE(ParseHookText(kId, "probe-segment\tu/s" + end + "\ta,a"));
  REQUIRE(
      ParseHookText(kId, "probe-segment\t/s" + end + "\ta\t2 1 3 20 10 30"));
  REQUIRE(ParseHookText(kId, "probe-point\tus" + end + "\ta,b"));
  for (const std::string& text :
       {"interrupt\tu/" + end + "\ta",
        "interrupt\tu" + end + "\ta",
        "probe-segment\tu" + end + "\ta",
        "probe-segment\t/" + end,
        "probe-segment\t/" + end + "\t",
        "probe-segment\tu/" + end,
        "probe-segment\tuu/u" + end + "\ta,a,b",
        "probe-segment\tu/uu" + end + "\ta,b,b",
        "probe-segment\tu/u/u" + end + "\ta,b,c",
        "probe-segment\tu/u" + end + "\ta,b,c",
        "probe-segment\tu/u" + end + "\ta",
        "probe-segment\tu/u" + end + "\ta,",
        "probe-segment\tu/" + end + "\ta,b",
        "probe-segment\t/u" + end + "\ta,b",
        "probe-segment\tuuuuuuu/" + end + "\ta,b,c,d,e,f,g",
        "probe-segment\tu/" + end + "\ta\tb",
        "probe-segment\tu/" + end + "\ta\t2 1 3 20 10 30\tb",
        "probe-segment\t-" + end + "\ta\t2 1 3 20 10 30",
        "kernel-segment\tu/" + end + "\ta\t2 1 3 20 10 30",
        "kernel-segment\tuuuuuuuuuuuuu/" + end + "\ta,b,c,d,e,f,g,h,i,j,k,l,m",
        "probe-point\tu/u" + end + "\ta,b"}) {
    CAPTURE(text);
    CHECK_FALSE(ParseHookText(kId, text));
  }
  CHECK_FALSE(ParseHookText(4096, "segment\tu/u" + end));
  // Six arguments of a system call, and their files.
  CHECK(ParseHookText(kId, "kernel-segment\tisisisisisis/s" + end +
                               "\ta,b,c,d,e,f,g,h,i,j,k,l,m"));
}

TEST_CASE("hook text: names of foreign fields become different identifiers",
          "[logformat]") {
  HookInfo hook;
  hook.payload = {6, PayloadType::kUnsigned};
  SetPayloadNames({"id", "outer.inner", "outer inner", "", "id", "_x\n\"}"},
                  hook);
  CHECK(hook.payload_names == std::vector<std::string>{"id", "outer_inner",
                                                       "outer_inner_2", "arg3",
                                                       "id_2", "_x___"});
  CHECK(ParsePayloadNames(PayloadNamesText(hook.payload_names)) ==
        hook.payload_names);
  SetPayloadNames({6, std::string(500, 'n')}, hook);
  CHECK(ParsePayloadNames(PayloadNamesText(hook.payload_names)) ==
        hook.payload_names);
  SetPayloadNames({6, ""}, hook);
  CHECK(hook.payload_names[5] == "arg5");
  SetPayloadNames({"one"}, hook);  // of six
  CHECK(hook.payload_names.empty());
  // They are no part of a program's hook's text.
  hook.id = 4096;
  hook.payload = {PayloadType::kUnsigned};
  SetPayloadNames({"id"}, hook);
  CHECK(HookText(hook) == "point\tu\t:\t");
  // A keyword of TSDL is none behind a `_`, which readers strip.
  SetPayloadNames({"event"}, hook);
  TraceDescription description;
  description.info.hooks = {hook};
  const std::string text = MetadataText(description);
  CHECK(text.find("uint64_t _event;") != std::string::npos);
  const auto read = ParseMetadata(text, "trace");
  REQUIRE(read.ok());
  CHECK(read->info.hooks[0].payload_names == hook.payload_names);
  CHECK(MetadataText(*read) == text);  // as verify compares
  for (const char* names : {"a,b", "", "a b"}) {
    std::string bad = text;
    bad.replace(bad.find("\"event\""), 7, "\"" + std::string(names) + "\"");
    CHECK_FALSE(ParseMetadata(bad, "trace").ok());
  }
}

TEST_CASE("hook text: no two fields of a record have one name", "[logformat]") {
  TraceInfo info;
  info.thread_events = {"task-clock", "cycles"};
  info.cpu_events = info.thread_events;
  HookInfo hook;
  hook.id = 4096;
  hook.payload = {6, PayloadType::kUnsigned};
  SetPayloadNames({"task_clock", "mmcr", "set", "cycles", "cycles_2", "tid"},
                  hook);
  info.hooks.push_back(hook);
  hook.id = 12288;
  hook.origin = HookOrigin::kKernel;
  info.hooks.push_back(hook);
  for (const std::vector<std::size_t>& sets :
       {std::vector<std::size_t>{}, {1, 1}}) {
    info.thread_set_sizes = info.cpu_set_sizes = sets;
    for (const EventClass& event : EventClasses(info)) {
      CAPTURE(event.name, event.id);
      std::set<std::string> names;
      std::size_t fields = 0;
      for (const auto* part : {&event.context, &event.fields}) {
        for (const EventField& field : *part) names.insert(field.name);
        fields += part->size();
      }
      CHECK(names.size() == fields);
    }
  }
}

}  // namespace
}  // namespace countrace::logformat
