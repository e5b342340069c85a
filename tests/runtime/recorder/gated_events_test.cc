// Events of a recording that counts one mode.
#include "runtime/recorder/events/gated_events.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "runtime/recorder/kernel/perf/countable_events.h"
#include "runtime/recorder/session/recorded_gating.h"

namespace countrace::runtime {
namespace {

using logformat::Gating;

std::vector<EventSpec> Events(const std::vector<std::string>& names) {
  auto events = ParseEvents(names);
  REQUIRE(events.ok());
  return *std::move(events);
}

std::string Gated(const Gating& gating, std::vector<EventSpec> events,
                  bool chosen, std::size_t& optional_from) {
  const absl::Status status = GateEvents(gating, chosen, events, optional_from);
  if (!status.ok()) return "refused: " + std::string(status.message());
  std::string names;
  for (const EventSpec& event : events) {
    // Its name has the mode that it counts.
    const auto mode = logformat::ModeOfEvent(event.name);
    CHECK(mode.user == !event.exclude_user);
    CHECK(mode.kernel == !event.exclude_kernel);
    names += (names.empty() ? "" : " ") + event.name;
  }
  return names;
}

std::string Gated(const Gating& gating, const std::vector<std::string>& names,
                  bool chosen = true) {
  std::size_t optional_from = 99;
  return Gated(gating, Events(names), chosen, optional_from);
}

TEST_CASE("gated_events: each counts the mode, and says so", "[recorder]") {
  const Gating user = {.kernel = false};
  const Gating kernel = {.user = false};
  CHECK(Gated({}, {"task-clock", "page-faults"}) == "task-clock page-faults");
  CHECK(Gated(user, {"page-faults", "cycles"}) == "page-faults:u cycles:u");
  CHECK(Gated(kernel, {"minor-faults", "r1c2"}) == "minor-faults:k r1c2:k");
  CHECK(Gated(user, {"page-faults:u"}) == "page-faults:u");
  CHECK(Gated({false, false, false, false}, {"task-clock"}).empty());
}

TEST_CASE("gated_events: what cannot be split is refused by name, or left out",
          "[recorder]") {
  const Gating user = {.kernel = false};
  for (const char* name : {"task-clock", "exec-runtime", "context-switches",
                           "cpu-migrations", "cs"}) {
    const std::string said = Gated(user, {"page-faults", name});
    CHECK(said.find(std::string("refused: ") + name) == 0);
    CHECK(said.find("--count user") != std::string::npos);
  }
  CHECK(Gated(user, {"page-faults:k"}).find("refused: page-faults:k") == 0);
  CHECK(Gated(user, {"page-faults", "page-faults:u"}).find("twice") !=
        std::string::npos);
  std::size_t optional_from = 4;
  CHECK(Gated(user,
              Events({"task-clock", "exec-runtime", "page-faults",
                      "context-switches", "cycles", "instructions"}),
              false, optional_from) == "page-faults:u cycles:u instructions:u");
  CHECK(optional_from == 1);
}

TEST_CASE("gated_events: fault records are of what is counted", "[recorder]") {
  const auto mode = [](const std::vector<std::string>& names) {
    const FaultMode found = ModeOfFaults(Events(names));
    return std::string(found.exclude_user ? "" : "u") +
           (found.exclude_kernel ? "" : "k");
  };
  CHECK(mode({"page-faults"}) == "uk");
  CHECK(mode({"page-faults:u", "minor-faults"}) == "u");
  CHECK(mode({"page-faults:k"}) == "k");
  CHECK(mode({"page-faults:u", "page-faults:k"}) == "uk");
  CHECK(mode({"page-faults:u", "page-faults"}) == "uk");
}

TEST_CASE("recorded_gating: what is counted if nothing is said", "[recorder]") {
  const auto text = [](const RecordOptions& options) {
    return logformat::GatingText(GatingOf(options));
  };
  RecordOptions options;
  options.command = {"true"};
  CHECK(text(options) == "marked");
  CHECK(KernelScope(options) == logformat::SessionScope::kCommand);
  options.system_wide = true;
  CHECK(text(options) == "all");
  CHECK(MarksRoots(options));
  options.marks = *logformat::ParseMarks({"sh"});
  CHECK(text(options) == "marked");
  CHECK(KernelScope(options) == logformat::SessionScope::kSystem);
  CHECK_FALSE(MarksRoots(options));
  options.system_wide = false;
  CHECK(MarksRoots(options));
  options.count = logformat::ParseGating("none");
  CHECK_FALSE(KeptBy(options).unmarked);
  options.system_wide = true;
  CHECK(KeptBy(options).every_process());
}

TEST_CASE("recorded_gating: options that contradict it", "[recorder]") {
  RecordOptions options;
  options.system_wide = true;
  options.count = logformat::ParseGating("unmarked");
  CHECK_FALSE(CheckGating(options).ok());  // but which processes?
  options.marks = *logformat::ParseMarks({"self"});
  CHECK(CheckGating(options).ok());
  options.kernel_segments = {"syscalls"};
  CHECK(CheckGating(options).ok());
  options.count = logformat::ParseGating("user,unmarked");
  CHECK_FALSE(CheckGating(options).ok());
}

}  // namespace
}  // namespace countrace::runtime
