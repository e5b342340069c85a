// Any bytes as a rule file: rules that can be evaluated and shown, or a message
// with the place.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "rmap/metrics/evaluator.h"
#include "rmap/metrics/metric_report.h"
#include "rmap/metrics/rule_file.h"
#include "rmap/metrics/tree_rows.h"
#include "tests/rmap/metrics/metric_fixture.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace countrace::rmap;  // NOLINT: the test's subject
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  metrics::RuleSet rules;
  absl::Status status = metrics::AddRules(text, "fuzz", rules);
  if (status.ok()) status = rules.Check({"cycles"});
  if (!status.ok()) {
    if (status.message().find("fuzz:") != 0) std::abort();
    return 0;
  }
  Report report =
      countrace::test_support::ReportOf({{"cycles", 12}, {"page-faults", 0}});
  report.processes[0].quality = Quality::kBounded;
  metrics::Evaluator evaluator(rules, {{"", &report}});
  metrics::MetricReport shown = {
      &rules, &report, &evaluator, {}, metrics::kEveryScope};
  for (std::size_t i = 0; i < rules.rules().size(); ++i) {
    shown.chosen.push_back(i);
  }
  for (const metrics::Rule& rule : rules.rules()) {
    if (rule.text.tree.empty()) continue;
    for (const metrics::Scope scope : metrics::kAllScopes) {
      const auto table = metrics::MakeTreeTable({.rules = &rules,
                                                 .tree = rule.text.tree,
                                                 .runs = {{"", &report}},
                                                 .scope = scope,
                                                 .owner = ""});
      if (!table.ok() && table.status().message().find("fuzz:") != 0) {
        std::abort();
      }
    }
  }
  for (const ReportFormat format : {ReportFormat::kText, ReportFormat::kJson}) {
    const std::string out = metrics::RenderMetrics(shown, {.format = format});
    if (out.find('\x1b') != std::string::npos) std::abort();
  }
  return 0;
}
