// Rules that nest: what is no tree has its line; parts of several runs are
// joined by ratio, with the spread of these runs, and never cut off at 0.
#include <catch2/catch.hpp>
#include <cmath>

#include "rmap/diff/tree_changes.h"
#include "rmap/metrics/rule_tree.h"
#include "rmap/metrics/tree_rows.h"
#include "tests/rmap/metrics/metric_fixture.h"

namespace countrace::rmap::metrics {
namespace {

using test_support::ReportOf;

constexpr char kTree[] = R"(
[metric.all]
tree = "t"
expr = "`CYC`"
per = "done"
[metric.done]
expr = "`INST`"
[metric.a]
parent = "all"
code = "A"
expr = "`A`"
[metric.b]
parent = "all"
code = "B"
expr = "`B`"
[metric.rest]
parent = "all"
code = "C"
expr = "all - a - b"
)";

RuleSet RulesOf(const std::string& text) {
  RuleSet rules;
  const absl::Status added = AddRules(text, "x.toml", rules);
  INFO(added.message());
  REQUIRE(added.ok());
  const absl::Status checked = rules.Check({});
  INFO(checked.message());
  REQUIRE(checked.ok());
  return rules;
}

std::string ErrorOf(const std::string& text) {
  const RuleSet rules = RulesOf(text);
  const auto tree = FindTree(rules, "t");
  REQUIRE_FALSE(tree.ok());
  return std::string(tree.status().message());
}

TreeTable TableOf(const RuleSet& rules, const std::vector<NamedReport>& runs) {
  auto table =
      MakeTreeTable({.rules = &rules, .tree = "t", .runs = runs, .owner = ""});
  INFO(table.status().message());
  REQUIRE(table.ok());
  return *std::move(table);
}

TEST_CASE("tree: what is no tree has its line", "[rmap][metrics]") {
  const auto with = [](const std::string& rule) {
    return "[metric.all]\ntree = \"t\"\nexpr = \"`CYC`\"\nper = \"done\"\n"
           "[metric.done]\nexpr = \"`INST`\"\n" +
           rule;
  };
  CHECK(ErrorOf(with("[metric.a]\nparent = \"b\"\nexpr = \"`A`\"\n"
                     "[metric.b]\nparent = \"a\"\nexpr = \"`B`\"\n")) ==
        "x.toml:8:11: a circle of parents: a -> b -> a");
  CHECK(ErrorOf(with("[metric.a]\nparent = \"a\"\nexpr = \"`A`\"\n")) ==
        "x.toml:8:11: a circle of parents: a -> a");
  CHECK(ErrorOf(with("[metric.a]\nparent = \"al\"\nexpr = \"`A`\"\n")) ==
        "x.toml:8:11: parent of `a`: there is no metric `al`; did you mean "
        "`all`?");
  CHECK(ErrorOf(with("[metric.a]\nparent = \"done\"\nexpr = \"`A`\"\n")) ==
        "x.toml:8:11: the root of `a` is `done`, which names no tree: give it "
        "tree = \"NAME\" and per = \"METRIC\"");
  CHECK(ErrorOf(with("[metric.a]\nparent = \"all\"\nexpr = \"`A` / `B`\"\n")) ==
        "x.toml:8:11: `a` is ratio; what a tree has is a count");
  CHECK(ErrorOf("[metric.all]\ntree = \"u\"\nexpr = \"`CYC`\"\nper = "
                "\"done\"\n[metric.done]\nexpr = \"`INST`\"\n") ==
        "there is no tree `t`, only u; shipped are cpi, topdown and "
        "topdown-arm64");
  CHECK(ErrorOf("[metric.all]\ntree = \"t\"\nexpr = \"`CYC`\"\nper = \"x\"\n")
            .starts_with("x.toml:4:8: per of `all`: there is no metric `x`"));
}

TEST_CASE("tree: a run alone is exact", "[rmap][metrics]") {
  const RuleSet rules = RulesOf(kTree);
  const Report run =
      ReportOf({{"CYC", 200}, {"INST", 100}, {"A", 50}, {"B", 30}});
  const TreeTable table = TableOf(rules, {{"", &run}});
  REQUIRE(table.rows.size() == 4);
  CHECK(*table.rows[0].value == 2);
  CHECK(*table.rows[1].share == 0.25);
  CHECK(*table.rows[3].count == 120);
  CHECK(*table.rows[3].value == 1.2);
  CHECK_FALSE(table.rows[3].lo);
  CHECK(*table.rows[0].rest == 0);
  CHECK(table.messages.empty());
}

TEST_CASE("tree: runs are joined by ratio, and a rest may be negative",
          "[rmap][metrics]") {
  const RuleSet rules = RulesOf(kTree);
  // A is 0.6 of its run's cycles, B 0.5 of its run's: together more than all.
  const Report first = ReportOf({{"CYC", 200}, {"INST", 100}, {"A", 120}});
  const Report second = ReportOf({{"CYC", 4400}, {"INST", 2000}, {"B", 2200}});
  const TreeTable table = TableOf(rules, {{"", &first}, {"", &second}});
  const TreeRow& rest = table.rows[3];
  CHECK(*rest.share == Approx(-0.1));
  CHECK(*rest.value == Approx(2 - 1.2 - 1.1));
  CHECK_FALSE(rest.count);
  // Standard deviation of 2 and 2.2 by their mean, of B alone; two runs.
  const double half = 1.1 * (0.1 * std::sqrt(2.0) / 2.1) * 12.7062;
  REQUIRE(rest.lo);
  CHECK(*rest.lo == Approx(*rest.value - half).epsilon(1e-4));
  CHECK(*rest.hi == Approx(*rest.value + half).epsilon(1e-4));
  CHECK_FALSE(table.rows[1].lo);  // of the first run
  CHECK(*table.rows[2].count == 2200);
  REQUIRE(table.messages.size() == 1);
  CHECK(table.messages[0].find("2.0000, 2.2000, 10.0 % apart") !=
        std::string::npos);
}

TEST_CASE("tree: parts that leave something over have the difference",
          "[rmap][metrics]") {
  std::string text = kTree;
  text.resize(text.find("[metric.rest]"));
  const RuleSet rules = RulesOf(text);
  const Report run =
      ReportOf({{"CYC", 200}, {"INST", 100}, {"A", 50}, {"B", 30}});
  CHECK(*TableOf(rules, {{"", &run}}).rows[0].rest == Approx(1.2));
}

TEST_CASE("tree: a change is certain only with several runs a side",
          "[rmap][metrics]") {
  const RuleSet rules = RulesOf(kTree);
  const auto side = [](std::uint64_t a, std::uint64_t more) {
    std::vector<Report> runs;
    for (const std::uint64_t noise : {0, 1, 2, 3}) {
      runs.push_back(ReportOf({{"CYC", 2000 + more + noise},
                               {"INST", 1000},
                               {"A", a + noise},
                               {"B", 300}}));
    }
    return runs;
  };
  const auto table =
      diff::CompareTrees(rules, "t", side(500, 0), side(900, 400));
  REQUIRE(table.ok());
  CHECK(table->rows[0].verdict == "beyond_noise");
  CHECK(*table->rows[0].change == Approx(0.4));
  CHECK(table->rows[1].verdict == "beyond_noise");
  CHECK(*table->rows[1].part == Approx(1));
  CHECK(table->rows[2].verdict == "within_noise");
  const auto one = diff::CompareTrees(
      rules, "t", {ReportOf({{"CYC", 2}, {"INST", 1}, {"A", 1}, {"B", 1}})},
      {ReportOf({{"CYC", 3}, {"INST", 1}, {"A", 2}, {"B", 1}})});
  REQUIRE(one.ok());
  CHECK(one->rows[1].verdict == "noise_unknown");
}

TEST_CASE("tree: runs without a total have no spread", "[rmap][metrics]") {
  const RuleSet rules = RulesOf(kTree);
  const Report none = ReportOf({{"CYC", 0}, {"INST", 100}, {"A", 0}});
  const Report again = ReportOf({{"CYC", 0}, {"INST", 200}, {"B", 0}});
  const TreeTable table = TableOf(rules, {{"", &none}, {"", &again}});
  CHECK(table.messages.empty());
  for (const TreeRow& row : table.rows) {
    CHECK_FALSE(std::isnan(row.value.value_or(0)));
    CHECK_FALSE(row.lo);
  }
}

TEST_CASE("tree: a part has events of its own row only", "[rmap][metrics]") {
  std::string text = kTree;
  text.replace(text.find("`B`"), 3, "@b.`B`");
  const RuleSet rules = RulesOf(text);
  const Report run =
      ReportOf({{"CYC", 200}, {"INST", 100}, {"A", 50}, {"B", 30}});
  const TreeTable table = TableOf(rules, {{"", &run}, {"b", &run}});
  CHECK_FALSE(table.rows[2].value);
  CHECK(table.rows[2].absent == "a tree has events of its own row only");
}

TEST_CASE("tree: a root has no parent, and a later tree of a name is meant",
          "[rmap][metrics]") {
  const std::string tree =
      "[metric.all]\ntree = \"t\"\nexpr = \"`CYC`\"\nper = \"done\"\n"
      "[metric.done]\nexpr = \"`INST`\"\n";
  CHECK(ErrorOf(tree + "[metric.b]\nparent = \"all\"\ntree = \"u\"\n"
                       "expr = \"`A`\"\n") ==
        "x.toml:8:11: `b` has a parent, so it is no root: leave out `tree`");
  const RuleSet two = RulesOf(tree +
                              "[metric.again]\ntree = \"t\"\nexpr = \"`A`\"\n"
                              "per = \"done\"\n");
  const auto found = FindTree(two, "t");
  REQUIRE(found.ok());
  CHECK(two.rules()[found->nodes[0].rule].text.name == "again");
}

TEST_CASE("tree: the shipped ones are trees", "[rmap][metrics]") {
  for (const char* name : {"cpi", "topdown", "topdown-arm64"}) {
    CAPTURE(name);
    const RuleSet rules = RulesOf(std::string(ShippedTree(name)));
    const auto tree = FindTree(rules, name);
    INFO(tree.status().message());
    REQUIRE(tree.ok());
    CHECK(tree->nodes.size() >= 5);
  }
  CHECK(ShippedTree("none").empty());
}

TEST_CASE("tree: top-down parts are cycles for each instruction",
          "[rmap][metrics]") {
  const auto values = [](const char* name, const Report& run) {
    const RuleSet rules = RulesOf(std::string(ShippedTree(name)));
    const auto table = MakeTreeTable(
        {.rules = &rules, .tree = name, .runs = {{"", &run}}, .owner = ""});
    std::vector<double> shown;
    for (const TreeRow& row : table->rows) shown.push_back(*row.value);
    return shown;
  };
  // 5 slots a cycle, 2 cycles an instruction.
  CHECK(values("topdown", ReportOf({{"slots", 1000},
                                    {"cycles", 200},
                                    {"instructions", 100},
                                    {"topdown-retiring", 250},
                                    {"topdown-bad-spec", 50},
                                    {"topdown-fe-bound", 300},
                                    {"topdown-be-bound", 400}})) ==
        std::vector<double>{2, 0.5, 0.1, 0.6, 0.8});
  CHECK(values("topdown-arm64", ReportOf({{"cpu_cycles", 200},
                                          {"inst_retired", 100},
                                          {"stall_frontend", 20},
                                          {"stall_backend", 80},
                                          {"op_retired", 75},
                                          {"op_spec", 100}})) ==
        std::vector<double>{2, 1, 0.75, 0.25, 0.2, 0.8});
}

}  // namespace
}  // namespace countrace::rmap::metrics
