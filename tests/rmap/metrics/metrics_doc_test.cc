// docs/metrics.md shows real output: each output block follows from the rules
// beside it. COUNTRACE_UPDATE_GOLDEN=1 rewrites the blocks.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

#include "rmap/metrics/metric_report.h"
#include "tests/rmap/metrics/metric_fixture.h"

namespace countrace::rmap::metrics {
namespace {

using test_support::ErrorOf;
using test_support::ReportOf;

constexpr char kDocument[] = COUNTRACE_SOURCE "/docs/metrics.md";
constexpr std::string_view kFence = "```";

std::string Rendered(RuleSet& rules, const Report& report,
                     const std::vector<std::string>& names, ScopeSet scopes) {
  const absl::Status checked = rules.Check(EventNames(report.events));
  INFO(checked.message());
  REQUIRE(checked.ok());
  Evaluator evaluator(rules, {{"", &report}});
  MetricReport metrics = {&rules, &report, &evaluator, {}, scopes};
  for (const std::string& name : names) {
    metrics.chosen.push_back(*rules.Find(name));
  }
  return RenderMetrics(metrics, {});
}

// Three processes; records were lost while the second ran.
std::string Guide(const std::string& toml) {
  Report report = ReportOf({{"cycles", 4'000'000'000},
                            {"instructions", 2'000'000'000},
                            {"stalled-cycles-backend", 1'600'000'000},
                            {"page-faults", 1200}});
  ProcessRow second = report.processes[0];
  second.index = ProcessIndex{1};
  second.pid = 8;
  second.comm = "lossy";
  second.on_cpu_ns = 200'000'000;
  second.counts = {900'000'000, 600'000'000, 300'000'000, 80};
  ProcessRow third = report.processes[0];
  third.index = ProcessIndex{2};
  third.pid = 9;
  third.comm = "idle";
  third.on_cpu_ns = 1'000'000;
  third.counts = {2'000'000, 1'000'000, 1'500'000, 0};
  const std::uint64_t lost[] = {50'000'000, 30'000'000, 10'000'000, 3};
  for (std::size_t i = 0; i < std::size(lost); ++i) {
    second.bounds.Set(CountNumber(i, CountPart::kWhole), *second.counts[i],
                      {*second.counts[i], *second.counts[i] + lost[i]});
  }
  second.bounds.Set(Number::kOnCpu, *second.on_cpu_ns,
                    {*second.on_cpu_ns, *second.on_cpu_ns + 5'000'000});
  report.processes.push_back(second);
  report.processes.push_back(third);
  for (std::size_t i = 0; i < report.books.size(); ++i) {
    Books& books = report.books[i];
    books.processes = 0;
    for (const ProcessRow& row : report.processes) {
      books.processes += *row.counts[i];
    }
    books.unattributed = lost[i];
    books.total = books.processes + lost[i];
  }
  CpuRow cpu;
  cpu.unattributed_ns = 5'000'000;
  report.cpu_rows.push_back(cpu);
  RuleSet rules;
  REQUIRE(AddDefaultRules(rules).ok());
  const absl::Status added = AddRules(toml, "my.toml", rules);
  INFO(added.message());
  REQUIRE(added.ok());
  return Rendered(rules, report,
                  {"stall_share", "cpi_stalled", "faults_per_second",
                   "share_of_faults", "unbalance", "cache_mpki"},
                  Only(Scope::kTrace) | Only(Scope::kProcess));
}

std::string Power5() {
  RuleSet rules;
  REQUIRE(
      AddRuleFile(COUNTRACE_SOURCE "/examples/metrics/power5_cpi.toml", rules)
          .ok());
  const Report report = ReportOf({{"PM_GCT_NOSLOT_CYC", 26489520676},
                                  {"PM_GCT_NOSLOT_IC_MISS", 2543186641},
                                  {"PM_GCT_NOSLOT_BR_MPRED", 14448342651},
                                  {"PM_INST_CMPL", 115642620104},
                                  {"PM_RUN_CYC", 302213025090}});
  return Rendered(rules, report,
                  {"cpi", "gct_share", "icache_share", "mispredict_share",
                   "gct_other_share", "cpi_gct", "cpi_icache", "cpi_fxu"},
                  Only(Scope::kTrace));
}

std::string Errors(const std::vector<std::string>& rules) {
  std::string out;
  for (const std::string& rule : rules) out += ErrorOf(rule) + "\n";
  return out;
}

// The text between the fence after `marker` and the next.
struct Block {
  std::size_t begin, size;
};
Block FindBlock(const std::string& document, const std::string& marker) {
  const std::size_t at = document.find("<!-- " + marker + " -->\n");
  INFO(marker);
  REQUIRE(at != document.npos);
  std::size_t begin = document.find(kFence, at);
  begin = document.find('\n', begin) + 1;
  const std::size_t end = document.find(kFence, begin);
  REQUIRE(end != document.npos);
  return {begin, end - begin};
}

TEST_CASE("docs/metrics.md shows what is printed", "[rmap][metrics][docs]") {
  std::ifstream file(kDocument);
  std::string document{std::istreambuf_iterator<char>(file), {}};
  REQUIRE_FALSE(document.empty());
  const Block toml = FindBlock(document, "rules: guide");
  const std::map<std::string, std::string> blocks = {
      {"output: guide", Guide(document.substr(toml.begin, toml.size))},
      {"output: power5", Power5()},
      {"errors: units",
       Errors({"x = cycles + on_cpu_ns", "x = on_cpu_ns - 5"})},
      {"errors: names",
       Errors({"x = 1000 * cylces / instructions", "x = page-faults / calls",
               "x = (cycles + 1count / 2", "x = 2 * x"})}};
  const bool update = std::getenv("COUNTRACE_UPDATE_GOLDEN") != nullptr;
  for (const auto& [marker, printed] : blocks) {
    const Block block = FindBlock(document, marker);
    CAPTURE(marker);
    if (update) {
      document.replace(block.begin, block.size, printed);
    } else {
      CHECK(document.substr(block.begin, block.size) == printed);
    }
  }
  if (update) std::ofstream(kDocument) << document;
}

}  // namespace
}  // namespace countrace::rmap::metrics
