// The event names of countrace/counts.h are those of `-e`.
#include <catch2/catch.hpp>
#include <cstddef>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "countrace/counts_events.h"
#include "logformat/perf_event_names.h"
#include "runtime/recorder/events/event_name.h"

namespace {

using countrace::runtime::EventKind;

void CheckSame(const std::string& name) {
  CAPTURE(name);
  countrace_detail_event mine{};
  const bool found =
      countrace_detail_find(name.data(), name.size(), &mine) != 0;
  const auto theirs = countrace::runtime::ParseEvent(name);
  // Names that only the recorder can look up.
  const bool others = theirs.ok() && (theirs->kind == EventKind::kPmu ||
                                      theirs->kind == EventKind::kTracepoint);
  if (others) return;
  REQUIRE(found == theirs.ok());
  if (!found) return;
  CHECK(mine.type == theirs->type);
  CHECK(mine.config == theirs->config);
  CHECK((mine.exclude_user != 0) == theirs->exclude_user);
  CHECK((mine.exclude_kernel != 0) == theirs->exclude_kernel);
}

std::vector<std::string> Names() {
  std::vector<std::string> names = {
      "r1", "r01c2",      "rFFFFffffFFFFffff", "rg",
      "r",  "l1-d-loads", "LlC-load-misses",   "bpu-loads"};
  for (const auto& event : countrace::runtime::FixedEventNames()) {
    if (event.name != countrace::logformat::kExecRuntimeEvent) {
      names.push_back(event.name);
    }
  }
  for (const auto& table :
       {std::span(countrace::logformat::kPerfHardwareEvents).subspan(0),
        countrace::logformat::kPerfCountedSoftwareEvents.subspan(0)}) {
    for (const auto& event : table) {
      if (!event.alias.empty()) names.emplace_back(event.alias);
    }
  }
  return names;
}

}  // namespace

TEST_CASE("counts names: each of perf's is the same event as of -e",
          "[runtime][counts]") {
  for (const std::string& name : Names()) {
    for (const char* modifier : {"", ":u", ":k", ":x", ":"}) {
      CheckSame(name + modifier);
    }
  }
}

TEST_CASE("counts names: damaged ones are refused by both",
          "[runtime][counts]") {
  const std::vector<std::string> names = Names();
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    std::string name = names[random() % names.size()];
    const std::size_t at = random() % name.size();
    switch (random() % 3) {
      case 0:
        name.erase(at, 1);
        break;
      case 1:
        name.insert(at, 1, "-ulrk09x"[random() % 8]);
        break;
      default:
        name[at] = "-uLRk09x"[random() % 8];
    }
    CheckSame(name);
  }
}
