#include "rmap/diff/diff_render.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "rmap/diff/change_format.h"
#include "rmap/diff/compare.h"
#include "tests/rmap/diff/simulated_runs.h"

namespace countrace::rmap::diff {
namespace {

using nlohmann::json;

Diff WithNames(const std::string& process, const std::string& segment) {
  test_support::TrueProgram before, after;
  before.segments = {{process, {segment}, 10, 1000, 0, 0}};
  after.segments = {{process, {segment}, 10, 3000, 0, 0}};
  test_support::Random random(1);
  const test_support::Noise noise{0.01, 0, false, false};
  auto diff = Compare(test_support::SimulateRuns(3, before, noise, random),
                      test_support::SimulateRuns(3, after, noise, random), {});
  REQUIRE(diff.ok());
  return *std::move(diff);
}

TEST_CASE("diff_render: names cannot act on a terminal, or as markup",
          "[rmap][diff]") {
  const Diff diff =
      WithNames("a|b\x1b[31m", "<img src=x>`*_[l](u)@me \xe2\x80\xae\xff");
  const std::string text = RenderDiffText(diff, {});
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find("\xe2\x80\xae") == std::string::npos);
  const std::string markdown = RenderDiffMarkdown(diff, {});
  CHECK(markdown.find('\x1b') == std::string::npos);
  CHECK(markdown.find("<img") == std::string::npos);
  CHECK(markdown.find("@me") == std::string::npos);
  CHECK(markdown.find("a\\|b") != std::string::npos);
  CHECK(markdown.find("\\[l\\](u)") != std::string::npos);
  const json parsed = json::parse(RenderDiffJson(diff, {}));
  CHECK(parsed["rows"][0]["process"] == "a|b\x1b[31m");
}

TEST_CASE("diff_render: JSON has all numbers of what it shows",
          "[rmap][diff]") {
  const Diff diff = WithNames("server", "server:handle");
  const json parsed = json::parse(RenderDiffJson(diff, {}));
  CHECK(parsed["schema"] == "countrace.diff/1");
  CHECK(parsed["before"].size() == 3);
  CHECK(parsed["regression"] == false);
  REQUIRE(parsed["rows"].size() == 1);
  const json& row = parsed["rows"][0];
  CHECK(row["path"] == json::array({"server:handle"}));
  for (const json& metric : row["metrics"]) {
    const json& self = metric["self"];
    CHECK(self["change"].get<double>() ==
          Approx(self["after"].get<double>() - self["before"].get<double>()));
    CHECK(self["interval"][0].get<double>() <= self["change"].get<double>());
    CHECK(self["interval"][1].get<double>() >= self["change"].get<double>());
  }
  CHECK(parsed["rows_within_noise"] == 1);
  CHECK(json::parse(RenderDiffJson(diff, {.all = true}))["rows"].size() == 2);
  for (const json& balance : parsed["balance"]) {
    CHECK(balance["after"]["unexplained"] == 0);
  }
}

TEST_CASE("diff_render: a bound that is infinite is said, and null in JSON",
          "[rmap][diff]") {
  Diff diff = WithNames("server", "server:handle");
  diff.rows[0].metrics[1].self.interval->low = -HUGE_VAL;
  CHECK_THAT(RenderDiffText(diff, {}), Catch::Matchers::Contains("[-100 %, "));
  const json parsed = json::parse(RenderDiffJson(diff, {.all = true}));
  CHECK(parsed["rows"][0]["metrics"][1]["self"]["interval"][0].is_null());
}

TEST_CASE(
    "diff_render: whatever a damaged trace makes of its numbers, there is "
    "an answer, and it balances",
    "[rmap][diff][property]") {
  test_support::Random random(99);
  const auto extreme = [&random]() -> std::uint64_t {
    static constexpr std::uint64_t kValues[] = {
        0, 1, ~0ull, ~0ull / 2, ~0ull / 2 + 1, 1ull << 40};
    return kValues[random() % 6];
  };
  for (int i = 0; i < 300; ++i) {
    const auto program = test_support::RandomProgram(2, 6, random);
    const auto damaged = [&] {
      auto reports = test_support::SimulateRuns(1 + random() % 3, program,
                                                {0.05, 0, true, true}, random);
      for (Report& report : reports) {
        for (SegmentRow& row : report.segment_paths) {
          const auto hit = [&random] { return random() % 4 == 0; };
          if (hit()) row.calls = extreme();
          if (hit()) row.wall.excl = extreme();
          if (hit()) row.on_cpu->excl = extreme();
          if (hit()) row.on_cpu.reset();
          if (hit()) row.counts[0]->excl = extreme();
          if (hit()) row.counts.clear();
          if (hit()) row.quality = Quality::kBounded;
          if (hit()) row.wall.stddev = 1e300;
        }
        report.processes[0].on_cpu_ns = extreme();
        report.books[0].unattributed = extreme();
        report.cpu_rows[0].idle_ns = extreme();
        report.loss.discarded_events = extreme();
        report.end_ns = extreme();
      }
      return reports;
    };
    const auto diff = Compare(damaged(), damaged(), {});
    REQUIRE(diff.ok());
    for (const Balance& balance : diff->balances) {
      // wall and off-CPU have no books to disagree with.
      if (balance.metric == "wall") CHECK(balance.before.Unexplained() == 0);
    }
    CHECK_FALSE(RenderDiffText(*diff, {.all = true}).empty());
    CHECK_FALSE(RenderDiffMarkdown(*diff, {.all = true}).empty());
    CHECK(json::parse(RenderDiffJson(*diff, {.all = true})).is_object());
  }
}

TEST_CASE("diff_render: ratios and signed numbers", "[rmap][diff]") {
  CHECK(FormatRatio(100, 104.2) == "+4.2 %");
  CHECK(FormatRatio(100, 50) == "-50 %");
  CHECK(FormatRatio(100, 211) == "2.11x");
  CHECK(FormatRatio(1, 12345) == "12,345x");
  CHECK(FormatRatio(0, 5) == "new");
  CHECK(FormatRatio(5, 0) == "gone");
  CHECK(FormatRatio(0, 0) == "0 %");
  CHECK(FormatSigned(12.3e6, true) == "+12.3 ms");
  CHECK(FormatSigned(-1234, false) == "-1,234");
  CHECK(FormatSigned(0.5, false) == "+0.5");
  CHECK(FormatAmount(41100, false) == "41,100");
  CHECK(FormatAmount(0.0513, false) == "0.0513");
  CHECK(FormatAmount(12.34, true) == "12.3 ns");
}

}  // namespace
}  // namespace countrace::rmap::diff
