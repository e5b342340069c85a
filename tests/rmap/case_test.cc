// Cases in files: event lines, "---", the expected tables.
//
// cases/pass-*.rmapcase: nothing is missing, and the report must not say so.
// cases/fail-*.rmapcase: named after a defect of the trace, which the report
// must show. COUNTRACE_UPDATE_GOLDEN=1 rewrites the expected part; review the
// diff. Their language: case_trace.h.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "rmap/pipeline.h"
#include "tests/rmap/case_trace.h"
#include "tests/rmap/memory_trace.h"
#include "tests/rmap/report_lines.h"
#include "tests/rmap/timeline_lines.h"

namespace countrace::rmap {
namespace {

using test_support::Build;
using test_support::CaseFile;
using test_support::Cases;
using test_support::MemoryTrace;
using test_support::ReadCase;
using test_support::Show;

bool ShowsDefect(const Report& report) {
  bool inferred = false;
  for (const SegmentRow& row : report.segments) {
    inferred |= row.quality != Quality::kExact;
  }
  return inferred || !report.loss.messages.empty();
}

TEST_CASE("cases: each trace gives its tables", "[rmap][cases]") {
  const std::vector<std::filesystem::path> paths = Cases();
  REQUIRE(paths.size() >= 20);
  for (const std::filesystem::path& path : paths) {
    const std::string name = path.filename().string();
    CAPTURE(name);
    const CaseFile file = ReadCase(path);
    MemoryTrace trace;
    Build(file.events, trace);
    const auto report = Reconstruct(trace, {});
    REQUIRE(report.ok());
    const std::string shown = Show(*report);
    // Dumps at hooks are copied if records do not stay in memory.
    trace.set_keeps_records(false);
    const auto copied = Reconstruct(trace, {});
    REQUIRE(copied.ok());
    CHECK(Show(*copied) == shown);
    if (std::getenv("COUNTRACE_UPDATE_GOLDEN") != nullptr) {
      std::ofstream(path) << file.events << "---\n" << shown;
    } else {
      CHECK(shown == file.expected);
    }
    for (const Books& books : report->books) CHECK(books.residual == 0);
    CHECK(ShowsDefect(*report) == (name.rfind("fail-", 0) == 0));
  }
}

TEST_CASE("cases: an observer sees the spans of before", "[rmap][cases]") {
  // A checksum of each trace's spans; COUNTRACE_MACHINE_REPORTS=DIR writes
  // them as text.
  const std::string golden = COUNTRACE_RMAP_CASES "/timelines.golden";
  const char* const directory = std::getenv("COUNTRACE_MACHINE_REPORTS");
  std::ostringstream shown;
  for (const std::filesystem::path& path : Cases()) {
    MemoryTrace trace;
    Build(ReadCase(path).events, trace);
    test_support::TimelineLines timeline(/*call_counts=*/true);
    REQUIRE(Reconstruct(trace, {.observer = &timeline}).ok());
    const std::string name = path.stem().string();
    trace.set_keeps_records(false);
    test_support::TimelineLines copied(/*call_counts=*/true);
    REQUIRE(Reconstruct(trace, {.observer = &copied}).ok());
    CAPTURE(name);
    CHECK(copied.lines() == timeline.lines());
    shown << name << " "
          << test_support::Checksum(test_support::kChecksumOfNothing,
                                    timeline.lines())
          << "\n";
    if (directory != nullptr) {
      std::ofstream(directory + ("/" + name)) << timeline.lines();
    }
  }
  if (std::getenv("COUNTRACE_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(golden) << shown.str();
  }
  std::ostringstream expected;
  expected << std::ifstream(golden).rdbuf();
  CHECK(shown.str() == expected.str());
}

TEST_CASE("cases: order of streams at equal times changes nothing",
          "[rmap][cases]") {
  for (const std::filesystem::path& path : Cases()) {
    CAPTURE(path.filename().string());
    const CaseFile file = ReadCase(path);
    // Only these cases have equal stream indexes for all records of a time.
    if (file.events.find("# ties") == std::string::npos) continue;
    MemoryTrace trace(/*threads_first=*/true);
    Build(file.events, trace);
    const auto report = Reconstruct(trace, {});
    REQUIRE(report.ok());
    CHECK(Show(*report) == file.expected);
  }
}

}  // namespace
}  // namespace countrace::rmap
