// Notes on code without names, of samples made by hand.
#include "rmap/samples/names/name_remedies.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "logformat/sample_points.h"
#include "rmap/result/samples.h"

namespace countrace::rmap {
namespace {

// Code made at run time: 85 samples with a name and 5 without in one process,
// 10 without in another.
Report ReportOf(const std::string& comm) {
  auto samples = std::make_shared<Samples>();
  samples->files = {{}, {logformat::kJitCode, ""}, {"/usr/bin/app", ""}};
  samples->frames = {{}, {0, 1, 0x1000, 0}, {0, 1, 0x9000, 0}};
  samples->contexts = {{.process = ProcessIndex{1}},
                       {.process = ProcessIndex{2}}};
  samples->symbols[{1, 0x1000}] = {16, "Named"};
  samples->sums = {{.context = 0, .frame = 1, .hits = 85},
                   {.context = 0, .frame = 2, .hits = 5},
                   {.context = 1, .frame = 2, .hits = 10}};
  Report report;
  for (const auto& [index, name] :
       {std::pair(1, std::string("java")), std::pair(2, comm)}) {
    ProcessRow& row = report.processes.emplace_back();
    row.index = ProcessIndex(index);
    row.comm = name;
  }
  report.samples = samples;
  return report;
}

const std::vector<UnnamedCode> kRows = {{"Named", logformat::kJitCode, 85},
                                        {"[jit]", logformat::kJitCode, 5},
                                        {"[jit]", logformat::kJitCode, 10}};

TEST_CASE("name_remedies: only programs without names are counted", "[rmap]") {
  CHECK(NameRemedies(ReportOf("node"), {}, {}, kRows) ==
        std::vector<std::string>{"[jit] of node (10 % of the samples): start "
                                 "it as `node --perf-basic-prof`"});
  CHECK(NameRemedies(ReportOf("other"), {}, {}, kRows) ==
        std::vector<std::string>{
            "[jit] of other (10 % of the samples): its compiler can write "
            "/tmp/perf-PID.map or jit-PID.dump"});
  CHECK(NameRemedies(ReportOf("node"), {true, false}, {}, kRows).empty());
}

TEST_CASE("name_remedies: files, few samples, and other reasons", "[rmap]") {
  const Report report = ReportOf("app");
  const std::vector<UnnamedCode> rows = {{"[stripped]", "app", 50},
                                         {"[no lines]", "mine", 49},
                                         {"[no lines]", "seldom", 0},
                                         {"f", "app", 1}};
  const auto notes = NameRemedies(report, {}, {}, rows);
  REQUIRE(notes.size() == 2);
  CHECK(notes[0] ==
        "[no lines] of mine (49 % of the samples): build it with -g");
  CHECK(notes[1].starts_with(
      "[stripped] of /usr/bin/app (50 % of the samples): install its debug "
      "package (Debian: `find-dbgsym-packages /usr/bin/app`)"));
  // It was said why this one has none.
  CHECK(NameRemedies(report, {}, {"/usr/bin/app has no names here"}, rows)
            .size() == 1);
}

TEST_CASE("name_remedies: no samples", "[rmap]") {
  CHECK(
      NameRemedies(ReportOf("node"), {}, {}, {{"[jit]", "[jit]", 0}}).empty());
}

}  // namespace
}  // namespace countrace::rmap
