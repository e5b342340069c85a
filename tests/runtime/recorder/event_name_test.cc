#include "runtime/recorder/events/event_name.h"

#include <linux/perf_event.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "runtime/recorder/events/event_list.h"
#include "runtime/recorder/events/libpfm_event.h"
#include "runtime/recorder/events/pmu_event.h"
#include "trace_contents.h"

namespace countrace::runtime {
namespace {

EventSpec MustParse(const std::string& name) {
  const auto event = ParseEvent(name);
  INFO(event.status().ToString());
  REQUIRE(event.ok());
  return *event;
}

void Write(const std::string& path, const std::string& text) {
  std::ofstream(path) << text << "\n";
}

}  // namespace

TEST_CASE("event_name: breakpoints as perf spells them", "[recorder]") {
  struct Expected {
    const char* name;
    std::uint64_t address, bytes;
    std::uint32_t access;  // linux/hw_breakpoint.h
  };
  const Expected expected = GENERATE(values<Expected>({
      {"mem:0x404010", 0x404010, 4, 3},
      {"mem:0x404010/8", 0x404010, 8, 3},
      {"mem:0x404010/8:w", 0x404010, 8, 2},
      {"mem:4096/1:rw", 4096, 1, 3},
      {"mem:0x404010:x", 0x404010, sizeof(long), 4},
      {"mem:0x404010/2:r:u", 0x404010, 2, 1},
  }));
  CAPTURE(expected.name);
  const EventSpec event = MustParse(expected.name);
  const perf_event_attr attr = ToPerfAttr(event);
  CHECK(attr.type == PERF_TYPE_BREAKPOINT);
  CHECK(attr.config == 0);
  CHECK(attr.bp_addr == expected.address);
  CHECK(attr.bp_len == expected.bytes);
  CHECK(attr.bp_type == expected.access);
  CHECK(event.exclude_kernel == event.name.ends_with(":u"));
  for (const char* wrong : {"mem:", "mem:x", "mem:0", "mem:0x10/3", "mem:0x10/",
                            "mem:0x10:q", "mem:0x10/16:w"}) {
    const auto status = ParseEvent(wrong).status();
    CAPTURE(wrong);
    CHECK(absl::IsInvalidArgument(status));
    CHECK(status.message().find("mem:0x404010/8:w") != std::string::npos);
  }
}

TEST_CASE("event_name: software, hardware and cache names have perf's numbers",
          "[recorder]") {
  struct Expected {
    const char* name;
    std::uint32_t type;
    std::uint64_t config;
  };
  // From linux/perf_event.h and perf's own table of names.
  const Expected expected = GENERATE(values<Expected>({
      {"task-clock", 1, 1},
      {"cpu-clock", 1, 0},
      {"page-faults", 1, 2},
      {"faults", 1, 2},
      {"context-switches", 1, 3},
      {"cs", 1, 3},
      {"migrations", 1, 4},
      {"minor-faults", 1, 5},
      {"major-faults", 1, 6},
      {"cycles", 0, 0},
      {"cpu-cycles", 0, 0},
      {"instructions", 0, 1},
      {"branch-misses", 0, 5},
      {"ref-cycles", 0, 9},
      {"L1-dcache-loads", 3, 0x00000},
      {"L1-dcache-load-misses", 3, 0x10000},
      {"L1-dcache-stores", 3, 0x00100},
      {"L1-icache-load-misses", 3, 0x10001},
      {"LLC-store-misses", 3, 0x10102},
      {"dTLB-load-misses", 3, 0x10003},
      {"iTLB-loads", 3, 0x00004},
      {"branch-load-misses", 3, 0x10005},
      {"r01c2", 4, 0x1c2},
  }));
  CAPTURE(expected.name);
  const EventSpec event = MustParse(expected.name);
  CHECK(event.type == expected.type);
  CHECK(event.config == expected.config);
  CHECK(event.name == expected.name);
  CHECK_FALSE(event.exclude_kernel);
}

TEST_CASE("event_name: modifiers leave out the other mode", "[recorder]") {
  CHECK(MustParse("page-faults:u").exclude_kernel);
  CHECK_FALSE(MustParse("page-faults:u").exclude_user);
  CHECK(MustParse("cycles:k").exclude_user);
  CHECK_FALSE(MustParse("cycles:uk").exclude_user);
  CHECK_FALSE(MustParse("cycles:uk").exclude_kernel);
  const auto session = ToSessionEvent(MustParse("cycles:k"));
  CHECK(session.flags == logformat::kEventExcludeUser);
  CHECK(std::string(session.name) == "cycles:k");
  CHECK(ToPerfAttr(MustParse("page-faults:u")).exclude_kernel == 1);
}

TEST_CASE("event_name: an unknown name is refused and named", "[recorder]") {
  const std::string name = GENERATE(
      as<std::string>(), "cycle", "", "cycles:p", "L1-dcache", "r", "rxyz",
      "L1-dcache-load-miss", "no_such_pmu/x=1/", "msr/tsc", "../x/y/",
      "sched:no_such_tracepoint", "sched/../sched:sched_switch", "bpf-output",
      "a name with blanks",
      "name-of-more-than-forty-seven-characters-in-all-x");
  CAPTURE(name);
  const auto event = ParseEvent(name);
  REQUIRE_FALSE(event.ok());
  CHECK(event.status().ToString().find("countrace list events") !=
        std::string::npos);
}

TEST_CASE("event_name: a name of libpfm4 names the PMU it needs",
          "[recorder]") {
  if (absl::IsUnimplemented(FindLibpfmEvent("cycles").status())) {
    WARN("this build has no libpfm4");
    return;
  }
  CHECK(absl::IsNotFound(FindLibpfmEvent("no_such_event").status()));
  CHECK(absl::IsNotFound(FindLibpfmEvent("no_such_pmu::CYCLES").status()));
  // A recorded command must not inherit libpfm4's start environment.
  CHECK(std::getenv("LIBPFM_ENCODE_INACTIVE") == nullptr);
  for (const std::string& name : ListLibpfmEvents()) {
    if (name.size() >= sizeof(logformat::SessionEvent::name)) continue;
    CAPTURE(name);
    const EventSpec event = MustParse(name);
    CHECK(event.kind == EventKind::kPmu);
    CHECK(event.name == name);
    // With its suffix a name of nearly 47 bytes is too long.
    const std::string of_user = name + ":u";
    if (of_user.size() >= sizeof(logformat::SessionEvent::name)) continue;
    CHECK(MustParse(of_user).exclude_kernel);
  }
#if defined(__x86_64__)
  // Intel's manual, volume 3B: event 0x0e, umask 0x01.
  const auto skylake = FindLibpfmEvent("skl::UOPS_ISSUED:ANY");
  REQUIRE(skylake.ok());
  CHECK(skylake->full_name == "skl::UOPS_ISSUED:ANY");
  CHECK(skylake->type == PERF_TYPE_RAW);
  CHECK((skylake->config & 0xffff) == 0x10e);
  CHECK(absl::IsInvalidArgument(
      FindLibpfmEvent("skl::UOPS_ISSUED:NO_SUCH_UMASK").status()));
  // No machine is a Skylake and a Barcelona at once.
  int absent = 0;
  for (const std::string name :
       {"skl::UOPS_ISSUED:ANY", "amd64_fam10h_barcelona::CPU_CLK_UNHALTED"}) {
    const auto event = ParseEvent(name);
    if (event.ok()) continue;
    ++absent;
    const std::string message(event.status().message());
    INFO(message);
    CHECK(message.find("is " + name) != std::string::npos);
    CHECK(message.find("in libpfm4") != std::string::npos);
    CHECK(message.find("no such PMU") != std::string::npos);
    CHECK(message.find("countrace list events") != std::string::npos);
  }
  CHECK(absent >= 1);
#endif
}

TEST_CASE("event_name: one event twice, or too many, is an error",
          "[recorder]") {
  CHECK(ParseEvents({"faults", "page-faults"}).status().code() ==
        absl::StatusCode::kInvalidArgument);
  CHECK(ParseEvents({"page-faults:u", "page-faults"}).ok());
  CHECK_FALSE(ParseEvents(std::vector<std::string>(17, "cycles")).ok());
}

TEST_CASE("event_name: every fixed name parses and is a different event",
          "[recorder]") {
  std::set<std::pair<std::uint32_t, std::uint64_t>> seen;
  for (const NamedEvent& named : FixedEventNames()) {
    CAPTURE(named.name);
    const EventSpec event = MustParse(named.name);
    CHECK(event.kind == named.kind);
    CHECK(seen.insert({event.type, event.config}).second);
  }
  CHECK(seen.size() > 50);
}

TEST_CASE("event_name: what is listed as opening does open", "[recorder]") {
  const ListEventsResult list = ListEvents();
  std::size_t open = 0;
  for (const ListedEvent& event : list.events) {
    CAPTURE(event.name);
    CHECK((event.opens_on_cpu && event.opens_on_task) == event.why_not.empty());
    open += event.opens_on_task;
  }
  CHECK(open >= 1);
}

TEST_CASE("pmu_event: terms land in the bits that the format files name",
          "[recorder]") {
  const TestDirectory root;
  const std::string pmu = root.File("chip_0");
  std::filesystem::create_directories(pmu + "/format");
  std::filesystem::create_directories(pmu + "/events");
  Write(pmu + "/type", "42");
  Write(pmu + "/format/event", "config:0-7,32-35");
  Write(pmu + "/format/umask", "config:8-15");
  Write(pmu + "/format/edge", "config:18");
  Write(pmu + "/format/ldlat", "config1:0-15");
  Write(pmu + "/format/all", "config2");
  Write(pmu + "/events/misses", "event=0x2e,umask=0x41");
  Write(pmu + "/events/misses.unit", "Misses");

  const auto parse = [&](const std::string& terms) {
    return ParsePmuEvent("chip_0", terms, root.path());
  };
  const auto event = parse("event=0x5c2,umask=1,edge,ldlat=30,all=7");
  REQUIRE(event.ok());
  CHECK(event->type == 42);
  CHECK(event->config[0] == 0x5000401c2u);
  CHECK(event->config[1] == 30);
  CHECK(event->config[2] == 7);
  CHECK(parse("misses")->config[0] == 0x412e);
  CHECK(parse("misses,umask=2")->config[0] == 0x022e);
  CHECK(parse("config=0x77")->config[0] == 0x77);
  CHECK_FALSE(parse("umask=0x100").ok());
  CHECK_FALSE(parse("event=x").ok());
  CHECK_FALSE(parse("nothing").ok());
  CHECK_FALSE(parse("misses=2").ok());
  CHECK_FALSE(parse("../events/misses").ok());
  CHECK_FALSE(ParsePmuEvent("chip_1", "event=1", root.path()).ok());
  CHECK(event->cpus.empty());
  Write(pmu + "/cpumask", "0,4-5\n");
  CHECK(parse("misses")->cpus == std::vector<std::uint32_t>{0, 4, 5});
  CHECK(ListPmuEvents(root.path()) ==
        std::vector<std::string>{"chip_0/misses/"});
}

}  // namespace countrace::runtime
