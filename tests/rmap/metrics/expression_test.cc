// Expressions: valid texts, errors with their place, and that no text makes the
// parser recurse without bound.
#include <catch2/catch.hpp>
#include <cmath>
#include <optional>
#include <random>

#include "rmap/metrics/expression.h"
#include "tests/rmap/metrics/metric_fixture.h"

namespace countrace::rmap::metrics {
namespace {

using test_support::ErrorOf;
using test_support::ReportOf;

std::optional<double> ValueOf(const std::string& formula,
                              const Report& report) {
  RuleSet rules;
  const absl::Status added = AddCommandLineRule("x = " + formula, rules);
  INFO(formula << "\n" << added.message());
  REQUIRE(added.ok());
  const absl::Status checked = rules.Check(EventNames(report.events));
  INFO(checked.message());
  REQUIRE(checked.ok());
  Evaluator evaluator(rules, {{"", &report}});
  return evaluator.Value(0, Scope::kTrace, 0).value;
}

TEST_CASE("expression: precedence and spelling", "[rmap][metrics]") {
  const Report report = ReportOf({{"cycles", 12}, {"page-faults", 3}});
  CHECK(ValueOf("1 + 2 * 3", report) == 7);
  CHECK(ValueOf("(1 + 2) * 3", report) == 9);
  CHECK(ValueOf("8 / 4 / 2", report) == 1);
  CHECK(ValueOf("8 - 4 - 2", report) == 2);
  CHECK(ValueOf("-2 * -3", report) == 6);
  CHECK(ValueOf("2 - -3", report) == 5);
  CHECK(ValueOf("1.5e2 + .5", report) == 150.5);
  CHECK(ValueOf("5us / 1us", report) == 5);
  CHECK(ValueOf("min(3, 1, 2) + max(4, 6)", report) == 7);
  CHECK(ValueOf("abs(2 - 5) + sqrt(16)", report) == 7);
  for (const char* quoted : {"`page-faults`", "'page-faults'",
                             "\"page-faults\"", "faults", "`faults`"}) {
    CAPTURE(quoted);
    CHECK(ValueOf(std::string("cycles / ") + quoted, report) == 4);
  }
}

TEST_CASE("expression: every error has its place and a caret",
          "[rmap][metrics]") {
  struct Case {
    const char* rule;
    const char* place;
    const char* text;
  };
  const Case cases[] = {
      {"x", "1:1", "NAME = EXPRESSION"},
      {"x = ", "1:5", "missing"},
      {"x = (cycles", "1:12", "expected `)`"},
      {"x = cycles)", "1:11", "not expected"},
      {"x = 1 + * 2", "1:9", "`*`"},
      {"x = 1 2", "1:7", "operator"},
      {"x = `cycles", "1:5", "not closed"},
      {"x = cycles # no", "1:12", "`#`"},
      {"x = cycles \xc3\xa9", "1:12", "\xc3\xa9"},
      {"x = \x1b[31m", "1:5", "\\x1b"},
      {"x = 1e999", "1:5", "no number"},
      {"x = 5parsecs", "1:6", "parsecs"},
      {"x = log(cycles)", "1:5", "no function"},
      {"x = max(cycles + cycles)", "1:5", "two values"},
      {"x = mean(cycles)", "1:5", "TABLE.NAME"},
      {"x = mean(thread.cycles + 1)", "1:24", "expected `)`"},
      {"x = cylces / instructions", "1:5", "did you mean `cycles`?"},
      {"x = page-faults", "1:5", "write `page-faults`"},
      {"x = totl.cycles", "1:5", "unknown `totl.`"},
      {"x = x + 1", "1:5", "x -> x"},
      {"x = calls / dispatches", "1:5", "only of segment, path"},
      {"wall_ns = 1", "1:1", "another name"},
      {"9x = 1", "1:1", "no name"},
      {"x = @.cpi", "1:6", "not expected"},
  };
  for (const Case& each : cases) {
    CAPTURE(each.rule);
    const std::string error = ErrorOf(each.rule);
    CHECK(error.find("--metric:" + std::string(each.place) + ": ") == 0);
    CHECK(error.find(each.text) != std::string::npos);
    CHECK(error.find('\x1b') == std::string::npos);
  }
}

TEST_CASE("expression: bombs are refused", "[rmap][metrics]") {
  const auto repeated = [](const char* what, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += what;
    return text;
  };
  CHECK(ErrorOf("x = " + repeated("(", 2000)).find("deep") !=
        std::string::npos);
  CHECK(ErrorOf("x = " + repeated("min(1,", 600)).find("deep") !=
        std::string::npos);
  CHECK(ErrorOf("x = " + repeated("abs(", 1000)).find("deep") !=
        std::string::npos);
  CHECK(ErrorOf("x = " + repeated("-", 4000) + "1").empty());
  CHECK(ErrorOf("x = 1" + repeated("+1", 2000)).empty());
  CHECK(ErrorOf("x = " + std::string(1 << 20, '1')).find("bytes") !=
        std::string::npos);
  // A chain of metrics, in either order.
  for (const bool up : {false, true}) {
    RuleSet rules;
    for (int i = 0; i < 900; ++i) {
      const int k = up ? i : 899 - i;
      REQUIRE(AddCommandLineRule(
                  "m" + std::to_string(k) + " = " +
                      (k == 0 ? "cycles" : "m" + std::to_string(k - 1)),
                  rules)
                  .ok());
    }
    CHECK(std::string(rules.Check({}).message()).find("deep") !=
          std::string::npos);
  }
}

// A random formula and its value, computed without the parser.
struct Oracle {
  std::mt19937 random;
  const std::vector<double>& inputs;

  int Below(int limit) {
    return static_cast<int>(random() % static_cast<unsigned>(limit));
  }
  // Every operand is a ratio; names are counts divided by 1count.
  std::pair<std::string, double> Formula(int depth) {
    const auto inner = [&] { return Formula(depth - 1); };
    switch (depth == 0 ? Below(2) : Below(9)) {
      case 0: {
        const int value = Below(100);
        return {std::to_string(value) + ".5", value + 0.5};
      }
      case 1: {
        const int input = Below(static_cast<int>(inputs.size()));
        return {"('e" + std::to_string(input) + "' / 1count)",
                inputs[static_cast<std::size_t>(input)]};
      }
      case 2: {
        const auto a = inner(), b = inner();
        return {"(" + a.first + " + " + b.first + ")", a.second + b.second};
      }
      case 3: {
        const auto a = inner(), b = inner();
        return {"(" + a.first + "-" + b.first + ")", a.second - b.second};
      }
      case 4: {
        const auto a = inner(), b = inner();
        return {"(" + a.first + ") * (" + b.first + ")", a.second * b.second};
      }
      case 5: {
        const auto a = inner(), b = inner();
        return {"(" + a.first + ") / (" + b.first + ")", a.second / b.second};
      }
      case 6: {
        const auto a = inner(), b = inner();
        return {"min(" + a.first + ", " + b.first + ")",
                std::min(a.second, b.second)};
      }
      case 7: {
        const auto a = inner();
        return {"sqrt(abs(" + a.first + "))", std::sqrt(std::abs(a.second))};
      }
      default: {
        const auto a = inner();
        return {"(-" + a.first + ")", -a.second};
      }
    }
  }
};

TEST_CASE("expression: random formulas have the value of plain doubles",
          "[rmap][metrics][property]") {
  int finite = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    test_support::EventCounts counts;
    std::vector<double> inputs;
    for (int i = 0; i < 4; ++i) {
      counts.emplace_back("e" + std::to_string(i), random() % 1000);
      inputs.push_back(static_cast<double>(counts.back().second));
    }
    Oracle oracle{random, inputs};
    const auto [formula, value] = oracle.Formula(4);
    CAPTURE(seed, formula);
    const auto got = ValueOf("(" + formula + ")", ReportOf(counts));
    if (!std::isfinite(value)) {
      CHECK_FALSE(got.has_value());
      continue;
    }
    // An inner division by zero can vanish in a double (1 / inf), but is absent
    // here.
    if (!got) continue;
    ++finite;
    CHECK(*got == value);  // the same operations in the same order
  }
  CHECK(finite > 2000);
}

}  // namespace
}  // namespace countrace::rmap::metrics
