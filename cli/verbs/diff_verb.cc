#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/posix/output_width.h"
#include "cli/hosts/host_traces.h"
#include "cli/program/exit_status.h"
#include "cli/program/help_texts.h"
#include "cli/program/interruption.h"
#include "cli/program/metric_options.h"
#include "cli/program/progress_bar.h"
#include "cli/program/terminal.h"
#include "cli/program/verb.h"
#include "cli/program/verb_parser.h"
#include "cli/report/report_source.h"
#include "cli/report/report_tree.h"
#include "cli/trace/trace_input.h"
#include "rmap/diff/compare.h"
#include "rmap/diff/diff_render.h"
#include "rmap/diff/tree_changes.h"
#include "rmap/hosts/merged_run.h"
#include "rmap/report/report_names.h"

namespace countrace::cli {
namespace {

using rmap::Report;
using rmap::diff::Diff;

// Errors: CANCELLED, and those of reading.
absl::StatusOr<Report> ReadRun(const GivenRun& run, TraceInput& input) {
  std::vector<std::pair<std::string, Report>> parts;
  for (const GivenHost& host : run.hosts) {
    auto source = ReportSource::Open(input, host.path);
    if (!source.ok()) return source.status();
    ProgressBar progress("reading " + host.path, input.show_progress());
    auto report = source->Read({.progress = progress.Callback()});
    progress.Clear();
    if (!report.ok() || host.name.empty()) return report;
    parts.emplace_back(host.name, *std::move(report));
  }
  return rmap::MergeRun(std::move(parts));
}

// Errors: printed on stderr; the result is then empty.
std::vector<Report> ReadAll(const std::vector<GivenRun>& runs,
                            TraceInput& input, int& status) {
  std::vector<Report> reports;
  for (const GivenRun& run : runs) {
    auto report = ReadRun(run, input);
    if (absl::IsCancelled(report.status())) {
      Say(kDiffVerb.name,
          absl::StrFormat("interrupted while %s was read, after %d of %d "
                          "traces: nothing is compared",
                          run.name, reports.size(), runs.size()));
      status = kExitInterrupted;
      return {};
    }
    if (!report.ok()) {
      status = ReportFailure(kDiffVerb.name, report.status());
      return {};
    }
    reports.push_back(*std::move(report));
  }
  return reports;
}

// Null: the options fit each other.
const char* WrongWithTree(const VerbParser& parser, bool tree,
                          const std::string& format) {
  if (!tree) {
    return parser.is_given("--rules") ? "--rules is for --tree" : nullptr;
  }
  const bool others =
      parser.is_given("--threshold") || parser.is_given("--all") ||
      parser.is_given("--any-process") || parser.is_given("--rows");
  return others ? "--tree is a table of its own, with all rows: "
                  "leave out --threshold, --all, --any-process "
                  "and --rows"
         : format == "markdown" ? "--tree has --format text and json"
                                : nullptr;
}

// The changes of a tree of rules, as a table.
int PrintTree(const VerbParser& parser, const MetricChoice& choice,
              const std::vector<Report>& before,
              const std::vector<Report>& after, const std::string& format,
              const rmap::diff::DiffRenderOptions& options) {
  rmap::metrics::RuleSet rules;
  absl::Status status = AddChosenRules(choice, rules);
  std::vector<std::string> events;
  for (const std::vector<Report>* side : {&before, &after}) {
    for (const Report& report : *side) {
      for (const auto& event : report.events) events.push_back(event.name);
    }
  }
  if (status.ok()) status = rules.Check(events);
  auto table = status.ok()
                   ? rmap::diff::CompareTrees(rules, choice.tree, before, after)
                   : status;
  if (!table.ok()) {
    return parser.UsageError(std::string(table.status().message()));
  }
  Report report;
  report.tree_table = std::make_shared<rmap::TreeTable>(*std::move(table));
  const rmap::RenderOptions render{.format = rmap::ReportFormats().at(format),
                                   .by = rmap::ReportBy::kTree,
                                   .max_rows = 0,
                                   .color = options.color,
                                   .width = options.width};
  return PrintData(kDiffVerb.name, RenderTree(report, render));
}

int RunDiff(const Arguments& arguments) {
  VerbParser parser(kDiffVerb);
  std::string one_before, one_after, format, color;
  std::vector<std::string> before, after, thresholds;
  rmap::diff::CompareOptions compare;
  rmap::diff::DiffRenderOptions render;
  std::uint64_t rows = 20;
  bool wide = false;
  TraceOptions options;
  TraceInput input(kDiffVerb.name, options);
  parser.AddPositional("before_trace", one_before);
  parser.AddPositional("after_trace", one_after);
  parser.AddTextList("--before", before);
  parser.AddTextList("--after", after);
  parser.AddTexts("--threshold", thresholds);
  MetricChoice metrics;
  parser.AddText("--tree", metrics.tree);
  parser.AddTexts("--rules", metrics.files);
  parser.AddFlag("--all", render.all);
  parser.AddFlag("--wide", wide);
  parser.AddFlag("--any-process", compare.align.any_process);
  parser.AddNumber("--rows", rows, ~std::uint64_t{0});
  parser.AddImportOptions(options);
  parser.AddFormat(format, {"text", "json", "markdown"});
  parser.AddColor(color);
  parser.AddNoProgress(options.no_progress);
  if (const auto status = parser.Parse(arguments)) return *status;

  const bool sets = !before.empty() || !after.empty();
  if (sets && !one_before.empty()) {
    return parser.UsageError(absl::StrFormat(
        "%s belongs to neither --before nor --after", one_before));
  }
  if (!one_before.empty()) before = {one_before};
  if (!one_after.empty()) after = {one_after};
  if (before.empty() || after.empty()) {
    return parser.UsageError(
        sets ? "--before and --after are both needed, one trace or more each"
             : "two traces are needed: BEFORE AFTER");
  }
  const auto runs_before = RunsOf(before), runs_after = RunsOf(after);
  const absl::Status same = CheckSameHosts(runs_before, runs_after);
  if (!same.ok()) return parser.Fail(same);
  const bool tree = !metrics.tree.empty();
  if (const char* const wrong = WrongWithTree(parser, tree, format)) {
    return parser.UsageError(wrong);
  }
  for (const std::string& text : thresholds) {
    auto threshold = rmap::diff::ParseThreshold(text);
    if (!threshold.ok()) {
      return parser.UsageError(std::string(threshold.status().message()));
    }
    compare.thresholds.push_back(*std::move(threshold));
  }

  const InterruptionGuard guard;
  int status = kExitOk;
  const auto reports_before = ReadAll(runs_before, input, status);
  if (status != kExitOk) return status;
  const auto reports_after = ReadAll(runs_after, input, status);
  if (status != kExitOk) return status;
  render.color = UseColor(color);
  render.width = wide ? base::kAnyWidth : base::OutputWidth(STDOUT_FILENO);
  if (tree) {
    return PrintTree(parser, metrics, reports_before, reports_after, format,
                     render);
  }
  const auto diff = Compare(reports_before, reports_after, compare);
  if (!diff.ok()) return ReportFailure(kDiffVerb.name, diff.status());

  render.max_rows = rows;
  const std::string text = format == "json" ? RenderDiffJson(*diff, render)
                           : format == "markdown"
                               ? RenderDiffMarkdown(*diff, render)
                               : RenderDiffText(*diff, render);
  return PrintData(kDiffVerb.name, text,
                   diff->HasRegression() ? kExitRegression : kExitOk);
}

}  // namespace

const Verb kDiffVerb = {"diff", kDiffHelp, RunDiff};

}  // namespace countrace::cli
