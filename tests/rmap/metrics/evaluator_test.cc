// Rules over reports: absent values and the reasons, qualities, statistics,
// several traces.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "rmap/metrics/metric_report.h"
#include "tests/rmap/metrics/metric_fixture.h"

namespace countrace::rmap::metrics {
namespace {

using nlohmann::json;
using test_support::ReportOf;

RuleSet RulesOf(const std::vector<std::string>& rules, const Report& report) {
  RuleSet set;
  for (const std::string& rule : rules) {
    const absl::Status added = AddCommandLineRule(rule, set);
    INFO(added.message());
    REQUIRE(added.ok());
  }
  const absl::Status checked = set.Check(EventNames(report.events));
  INFO(checked.message());
  REQUIRE(checked.ok());
  return set;
}

MetricValue ValueOf(const std::string& formula, const Report& report,
                    Scope scope = Scope::kProcess) {
  const RuleSet rules = RulesOf({"x = " + formula}, report);
  Evaluator evaluator(rules, {{"", &report}});
  return evaluator.Value(0, scope, 0);
}

TEST_CASE("evaluator: what is not there is absent, never 0",
          "[rmap][metrics]") {
  Report report = ReportOf({{"cycles:u", 12}, {"page-faults", 0}});
  CHECK(ValueOf("instructions / cycles", report).absent ==
        "needs instructions, cycles (the trace has cycles:u)");
  CHECK(ValueOf("on_cpu_ns / `page-faults`", report).absent ==
        "division by zero: `page-faults` is 0");
  CHECK(ValueOf("1 / (dispatches - dispatches)", report).absent ==
        "division by zero: the divisor is 0");
  CHECK(ValueOf("sqrt(-1)", report, Scope::kTrace).absent ==
        "square root of a negative number");
  CHECK(ValueOf("1e300 * 1e300", report, Scope::kTrace).absent ==
        "the result is too large for a number");
  CHECK(ValueOf("own_bpf_ns", report, Scope::kTrace).absent ==
        "needs own_bpf_ns");
  // Accounts that a trace does not separate are not 0.
  CHECK(ValueOf("own.`page-faults`", report, Scope::kTrace).absent != "");
  CHECK(ValueOf("`page-faults`", report).value == 0.0);  // counted: a true 0
  report.processes[0].on_cpu_ns.reset();
  CHECK(ValueOf("dispatches", report).absent == "needs dispatches");
  report.processes[0].counts[1].reset();
  CHECK(ValueOf("`page-faults`", report).absent == "needs page-faults");
}

TEST_CASE("evaluator: the limits of a row are those of its metrics",
          "[rmap][metrics]") {
  Report report = ReportOf({{"cycles", 1000}, {"instructions", 500}});
  ProcessRow& row = report.processes[0];
  row.bounds.Set(CountNumber(0, CountPart::kWhole), 1000, {1000, 1100});
  row.bounds.Set(Number::kDispatches, row.dispatches,
                 {row.dispatches, Bounds::kNone});
  const MetricValue cpi = ValueOf("cycles / instructions", report);
  CHECK(cpi.quality == Quality::kBounded);
  CHECK(*cpi.value == 2);
  CHECK(*cpi.lo == Approx(2));
  CHECK(*cpi.hi == Approx(2.2));
  CHECK(FormatMetric(cpi, {}) == "[2, 2.2]");
  // The number of lost dispatches is unknown: no interval, but the mark.
  const MetricValue rate = ValueOf("dispatches / cycles", report);
  CHECK(rate.quality == Quality::kBounded);
  CHECK_FALSE(rate.lo.has_value());
  CHECK(FormatMetric(rate, {}) == "~0.01 b");
}

TEST_CASE("evaluator: inferred stays inferred, scaled without error too",
          "[rmap][metrics]") {
  Report report = ReportOf({{"cycles", 1000}});
  report.processes[0].qualities.Add(Quality::kInferred);
  CHECK(ValueOf("cycles / dispatches", report).quality == Quality::kInferred);
  report.own_cost = {.bpf_ns = 5'000'000, .bpf_sampled_ns = 1};
  const MetricValue share =
      ValueOf("own_bpf_ns / duration_ns", report, Scope::kTrace);
  CHECK(share.quality == Quality::kScaled);
  CHECK_FALSE(share.standard_error.has_value());
  CHECK(FormatMetric(share, {}) == "~0.005");
}

TEST_CASE("evaluator: multiplexed events keep their errors",
          "[rmap][metrics]") {
  // cycles and instructions in one set, cache-misses always counted.
  Report report =
      ReportOf({{"cycles", 1000}, {"instructions", 3000}, {"cache-misses", 7}});
  const auto estimate = [](std::uint64_t value, double error) {
    ScaledCount count;
    count.value = value;
    count.counted = value / 2;
    count.standard_error = error;
    return count;
  };
  for (const auto add : {0, 1}) {
    auto& scaled =
        add == 0 ? report.processes[0].scaled : report.threads[0].scaled;
    scaled = {estimate(1000, 30), estimate(3000, 120), std::nullopt};
  }
  for (const Scope scope : {Scope::kProcess, Scope::kThread}) {
    const MetricValue ipc = ValueOf("instructions / cycles", report, scope);
    CHECK(ipc.value == Approx(3));
    CHECK(ipc.quality == Quality::kScaled);
    // First order: 3 * sqrt(0.03^2 + 0.04^2).
    REQUIRE(ipc.standard_error.has_value());
    CHECK(*ipc.standard_error == Approx(0.15));
    CHECK(ValueOf("`cache-misses`", report, scope).quality == Quality::kExact);
  }
  // The books hold the counts of the rotations, and the estimates beside them.
  report.books[0].total = report.books[0].processes = 500;
  report.books[0].scaled.emplace();
  report.books[0].scaled->processes = 1000;
  report.books[0].scaled->tasks = estimate(1000, 35);
  report.books[0].scaled->total = 1100;
  report.books[0].scaled->standard_error = 40;
  const MetricValue total = ValueOf("total.cycles", report, Scope::kTrace);
  CHECK(total.value == Approx(1100));
  CHECK(total.standard_error == Approx(40));
  const MetricValue all = ValueOf("cycles", report, Scope::kTrace);
  CHECK(all.value == Approx(1000));
  CHECK(all.quality == Quality::kScaled);
  CHECK(all.standard_error == Approx(35));
  CHECK(ValueOf("idle.cycles", report, Scope::kTrace).absent != "");
}

Report ManyThreads(int threads) {
  Report report = ReportOf({{"cycles", 1}});
  const ThreadRow first = report.threads[0];
  report.threads.clear();
  for (int i = 1; i <= threads; ++i) {
    ThreadRow thread = first;
    thread.tid = i;
    thread.counts[0] = static_cast<std::uint64_t>(i);
    report.threads.push_back(thread);
  }
  return report;
}

TEST_CASE("evaluator: statistics over rows", "[rmap][metrics]") {
  const Report report = ManyThreads(200);
  const auto of = [&](const std::string& formula) {
    return *ValueOf(formula, report, Scope::kTrace).value;
  };
  CHECK(of("count(thread.cycles)") == 200);
  CHECK(of("sum(thread.cycles)") == 20100);
  CHECK(of("mean(thread.cycles)") == Approx(100.5));
  CHECK(of("stddev(thread.cycles)") ==
        Approx(std::sqrt((200.0 * 200 - 1) / 12)));
  CHECK(of("min(thread.cycles)") == 1);
  CHECK(of("max(thread.cycles)") == 200);
  CHECK(of("p50(thread.cycles)") == 100);
  CHECK(of("p90(thread.cycles)") == 180);
  CHECK(of("p99(thread.cycles)") == 198);
  // A distance from the mean.
  const RuleSet rules = RulesOf(
      {"z = (cycles - mean(thread.cycles)) / stddev(thread.cycles)"}, report);
  Evaluator evaluator(rules, {{"", &report}});
  CHECK(*evaluator.Value(0, Scope::kThread, 199).value ==
        Approx(99.5 / 57.7343));
  const MetricStatistics s = evaluator.Statistics(0, Scope::kThread);
  CHECK(*s.count.value == 200);
  CHECK(*s.mean.value == Approx(0).margin(1e-12));
  CHECK(*s.stddev.value == Approx(1));
}

TEST_CASE("evaluator: waiting and blocked time, of tasks and of segments",
          "[rmap][metrics]") {
  Report report = ReportOf({});
  // Blocked time is unknown without recorded wake-ups.
  CHECK(ValueOf("blocked_ns", report, Scope::kProcess).absent != "");
  report.threads[0].blocked_ns = 375'000'000;
  ThreadRow second = report.threads[0];
  second.tid = 8;
  second.blocked_ns = 25'000'000;
  second.wait_ns = 0;
  report.threads.push_back(second);
  for (const Scope scope : {Scope::kProcess, Scope::kTrace}) {
    CHECK(*ValueOf("blocked_ns", report, scope).value == 400e6);
    CHECK(*ValueOf("wait_ns", report, scope).value == 125e6);
  }
  CHECK(*ValueOf("blocked_ns", report, Scope::kThread).value == 375e6);
  SegmentRow row;
  row.segment = "server:handle";
  row.calls = 4;
  row.on_cpu = {100, 60};
  row.wait = {30, 20};
  row.blocked = {70, 10};
  report.segments.push_back(row);
  const auto of = [&](const std::string& formula) {
    return *ValueOf(formula, report, Scope::kSegment).value;
  };
  CHECK(of("wait_ns") == 30);
  CHECK(of("excl.wait_ns") == 20);
  CHECK(of("blocked_ns / calls") == 17.5);
  CHECK(of("excl.blocked_ns") == 10);
  // Unknown for one thread, so the sum is unknown, too.
  report.threads[1].blocked_ns.reset();
  CHECK(ValueOf("blocked_ns", report, Scope::kTrace).absent != "");
}

TEST_CASE("evaluator: second stage over several traces", "[rmap][metrics]") {
  const Report main = ReportOf({{"cycles", 300}, {"instructions", 100}});
  const Report other = ReportOf({{"cycles", 400}, {"instructions", 100}});
  const RuleSet rules =
      RulesOf({"cpi = cycles / instructions", "slower = @after.cpi / cpi",
               "typical = mean(traces.cpi)", "gone = @nowhere.cpi"},
              main);
  CHECK(rules.rules()[0].stage == 1);
  CHECK(rules.rules()[1].stage == 2);
  CHECK(rules.rules()[1].needs ==
        std::vector<std::string>{"cycles", "instructions"});
  Evaluator evaluator(rules, {{"", &main}, {"after", &other}});
  CHECK(*evaluator.Value(1, Scope::kTrace, 0).value == Approx(4.0 / 3));
  CHECK(*evaluator.Value(2, Scope::kTrace, 0).value == Approx(3.5));
  CHECK(evaluator.Value(3, Scope::kTrace, 0).absent ==
        "needs trace nowhere (--with nowhere=TRACE)");
}

TEST_CASE("evaluator: a rule has the tables that have its names",
          "[rmap][metrics]") {
  const Report report = ReportOf({{"cycles", 1}});
  const RuleSet rules = RulesOf(
      {"a = cycles / calls", "b = migrations", "c = cycles",
       "d = duration_ns / 2", "e = cycles / d", "f = cycles / trace.cycles"},
      report);
  const auto scopes = [&](int i) {
    return ScopeNames(rules.rules()[static_cast<std::size_t>(i)].scopes);
  };
  CHECK(scopes(0) == "segment, path");
  CHECK(scopes(1) == "trace, process, thread");
  CHECK(scopes(2) == ScopeNames(kEveryScope));
  CHECK(scopes(3) == "trace");  // one value for all rows
  CHECK(scopes(4) == ScopeNames(kEveryScope));
  CHECK(scopes(5) == ScopeNames(kEveryScope));
}

TEST_CASE("metrics: every rendering says the same", "[rmap][metrics]") {
  Report report = ReportOf({{"cycles", 1000}, {"instructions", 400}});
  report.processes[0].comm = "e\x1b[31mvil,\"x\"";
  const RuleSet rules =
      RulesOf({"cpi = cycles / instructions", "gone = `cache-misses` / cycles"},
              report);
  Evaluator evaluator(rules, {{"", &report}});
  const MetricReport metrics = {&rules,
                                &report,
                                &evaluator,
                                {0, 1},
                                Only(Scope::kTrace) | Only(Scope::kProcess)};
  const json root =
      json::parse(RenderMetrics(metrics, {.format = ReportFormat::kJson}));
  CHECK(root["schema"] == "countrace.metrics/1");
  const json& row = root["tables"]["process"][0];
  CHECK(row["pid"] == 7);
  CHECK(row["metrics"]["cpi"]["value"] == 2.5);
  CHECK(row["metrics"]["cpi"]["quality"] == "exact");
  CHECK(row["metrics"]["gone"]["value"].is_null());
  CHECK(row["metrics"]["gone"]["absent"] == "needs cache-misses");
  CHECK(root["rules"][0]["needs"] == json({"cycles", "instructions"}));
  CHECK(root["statistics"]["process"]["cpi"]["mean"]["value"] == 2.5);
  const std::string csv =
      RenderMetrics(metrics, {.format = ReportFormat::kCsv});
  CHECK(csv.find("trace,,cpi,ratio,2.5,exact,,,,\r\n") != std::string::npos);
  CHECK(csv.find(",gone,ratio,,absent,,,,needs cache-misses\r\n") !=
        std::string::npos);
  const std::string text = RenderMetrics(metrics, {});
  CHECK(text.find("2.5") != std::string::npos);
  CHECK(text.find("absent: gone: needs cache-misses") != std::string::npos);
  for (const ReportFormat format :
       {ReportFormat::kText, ReportFormat::kJson, ReportFormat::kJsonLines,
        ReportFormat::kCsv}) {
    CHECK(RenderMetrics(metrics, {.format = format}).find('\x1b') ==
          std::string::npos);
  }
}

TEST_CASE("rules: the shipped file is right", "[rmap][metrics]") {
  RuleSet rules;
  const absl::Status added = AddDefaultRules(rules);
  INFO(added.message());
  REQUIRE(added.ok());
  const absl::Status checked = rules.Check({});
  INFO(checked.message());
  REQUIRE(checked.ok());
  CHECK(rules.rules().size() >= 25);
  for (const Rule& rule : rules.rules()) {
    CAPTURE(rule.text.name);
    CHECK_FALSE(rule.text.description.empty());
    CHECK(rule.text.unit.has_value());
  }
}

TEST_CASE("rules: a file's errors have line and column", "[rmap][metrics]") {
  using test_support::FileErrorOf;
  CHECK(FileErrorOf("[metric.x]\nexpr = \"cycles / cylces\"\n") ==
        "my.toml:2:18: unknown event, quantity or metric `cylces`; did you "
        "mean `cycles`?\n"
        "  cycles / cylces\n"
        "           ^");
  CHECK(FileErrorOf("[metric.x]\nexpr = '''\n  cycles /\n  cylces'''\n")
            .find("my.toml:4:3: unknown") == 0);
  CHECK(FileErrorOf("[metric.x]\nexpr = cycles\n").find("my.toml:2:8: ") == 0);
  CHECK(FileErrorOf("[metric.x]\nexpr = 5\n").find("my.toml:2:8: expr is no") ==
        0);
  CHECK(FileErrorOf("[metric.x]\nepxr = \"1\"\n")
            .find("my.toml:2:1: unknown key `epxr`; did you mean `expr`?") ==
        0);
  CHECK(FileErrorOf("[metric.x]\n") == "my.toml:1:9: metric `x` has no expr");
  CHECK(FileErrorOf("[metrics.x]\n").find("my.toml:1:2: `metrics`") == 0);
  CHECK(FileErrorOf("[metric.x]\nexpr = \"cycles\"\nscope = \"word\"\n")
            .find("my.toml:3:9: a scope is") == 0);
  CHECK(FileErrorOf("[metric.x]\nexpr = \"1\"\n[metric.x]\nexpr = \"2\"\n")
            .find("my.toml:3:") == 0);
  CHECK(FileErrorOf("[metric.x]\nexpr = \"calls\"\nscope = \"thread\"\n")
            .find("`calls` is no quantity of table thread") !=
        std::string::npos);
}

TEST_CASE("rules: nesting bombs in a file are refused", "[rmap][metrics]") {
  using test_support::FileErrorOf;
  std::string dots = "[a", brackets = "x = ", mixed = "x = ";
  for (int i = 0; i < 50000; ++i) dots += ".a";
  for (int i = 0; i < 50000; ++i) brackets += "[";
  for (int i = 0; i < 2000; ++i) mixed += "[\n{a.a.a.a.a.a.a.a.a.a=";
  CHECK(FileErrorOf(dots + "]\n").find("dots") != std::string::npos);
  CHECK_FALSE(FileErrorOf(brackets).empty());
  CHECK_FALSE(FileErrorOf(mixed).empty());
  CHECK(FileErrorOf(std::string(1 << 20, '#')).find("at most") !=
        std::string::npos);
}

TEST_CASE("rules: a later file replaces a rule of its name",
          "[rmap][metrics]") {
  RuleSet rules;
  REQUIRE(AddDefaultRules(rules).ok());
  const std::size_t before = rules.rules().size();
  REQUIRE(AddCommandLineRule("ipc = instructions / 2count", rules).ok());
  REQUIRE(rules.Check({}).ok());
  CHECK(rules.rules().size() == before);
  CHECK(rules.rules()[*rules.Find("ipc")].text.source == "--metric");
  CHECK_FALSE(AddCommandLineRule("ipc = instructions", rules).ok());
}

}  // namespace
}  // namespace countrace::rmap::metrics
