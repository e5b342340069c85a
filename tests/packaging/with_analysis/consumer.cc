#include <cstdio>
#include <string>

#include "logformat/read/trace_reader.h"
#include "rmap/metrics/evaluator.h"
#include "rmap/metrics/rule_file.h"
#include "rmap/pipeline.h"
#include "rmap/report/report_render.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto reader = countrace::logformat::TraceReader::Open(argv[1]);
  if (!reader.ok()) return 1;
  const auto report = countrace::rmap::Reconstruct(**reader, {});
  if (!report.ok()) return 1;
  countrace::rmap::metrics::RuleSet rules;
  if (!countrace::rmap::metrics::AddDefaultRules(rules).ok()) return 1;
  if (!rules.Check(report->events).ok()) return 1;
  countrace::rmap::metrics::Evaluator evaluator(rules, {{"", &*report}});
  const std::string text = countrace::rmap::RenderReport(*report, {});
  std::fputs(text.c_str(), stdout);
}
