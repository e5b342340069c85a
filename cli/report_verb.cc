#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "cli/exit_status.h"
#include "cli/gating_options.h"
#include "cli/help_texts.h"
#include "cli/interruption.h"
#include "cli/metric_options.h"
#include "cli/open_trace.h"
#include "cli/progress_bar.h"
#include "cli/report_over_time.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "cli/verb_parser.h"
#include "rmap/columns/report_names.h"
#include "rmap/pipeline.h"
#include "rmap/report/report_render.h"
#include "rmap/tables/attribution.h"
#include "rmap/tables/report_events.h"
#include "rmap/where/row_filter.h"
#include "rmap/where/where_expression.h"

namespace countrace::cli {
namespace {

using rmap::ReportBy;

// What was read is printed all the same.
void SayInterrupted(std::uint64_t records) {
  Say(kReportVerb.name,
      absl::StrFormat(
          "interrupted: what follows is of the %d records that were "
          "read until then, not of the whole trace",
          records));
}

bool HasLoss(const rmap::Loss& loss) {
  return loss.discarded_events > 0 || loss.discarded_packets > 0 ||
         loss.clock_errors > 0;
}

int RunReport(const Arguments& arguments) {
  VerbParser parser(kReportVerb);
  std::string trace = kDefaultTrace;
  std::string format, color, by, count;
  std::vector<std::string> marks;
  rmap::GatingRequest gating;
  std::uint64_t rows = 20;
  bool fail_on_loss = false, no_progress = false;
  std::string process, segment, where_text;
  std::uint64_t every_ns = 0;
  MetricChoice choice;
  parser.AddReadTrace(trace);
  std::vector<std::string> tables = rmap::NamesOf(rmap::ReportTables());
  tables.insert(tables.end(), {"time", "phase"});
  parser.AddChoice("--by", by, tables);
  parser.AddDuration("--every", every_ns);
  parser.AddText("--process", process);
  parser.AddText("--segment", segment);
  parser.AddText("--where", where_text);
  parser.AddNumber("--rows", rows, ~std::uint64_t{0});
  parser.AddText("--count", count);
  parser.AddTexts("--mark", marks);
  parser.AddFlagWithText("--metrics", "*", choice.glob);
  parser.AddTexts("--metric", choice.rules);
  parser.AddTexts("--rules", choice.files);
  parser.AddTexts("--with", choice.traces);
  parser.AddFormat(format, {"text", "json", "jsonl", "csv"});
  parser.AddColor(color);
  parser.AddFailOnLoss(fail_on_loss);
  parser.AddNoProgress(no_progress);
  if (const auto status = parser.Parse(arguments)) return *status;
  if (!choice.traces.empty() && !choice.wanted()) {
    return parser.UsageError("--with is for metrics; add --metric or --rules");
  }
  rmap::metrics::RuleSet rules;
  if (choice.wanted()) {
    // Before the trace, so that a wrong rule is said at once.
    const absl::Status status = AddChosenRules(choice, rules);
    if (!status.ok()) return parser.UsageError(std::string(status.message()));
  }

  if (const auto problem =
          ParseGatingOptions(count, marks, gating.count, gating.marks)) {
    return parser.UsageError(*problem);
  }
  std::optional<rmap::where::WhereExpression> where;
  if (parser.is_given("--where")) {
    auto parsed = rmap::where::ParseWhere(where_text);
    if (!parsed.ok()) {
      return parser.UsageError(std::string(parsed.status().message()));
    }
    where = *std::move(parsed);
  }
  const InterruptionGuard guard;
  if (by == "time" || by == "phase") {
    if (where && (!process.empty() || !segment.empty())) {
      return parser.UsageError(
          "--where stands for --process and --segment: give it or those");
    }
    const auto answer = ReportOverTime(
        {.trace = trace,
         .phases = by == "phase",
         .every_ns = every_ns,
         .gating = gating,
         .process = process,
         .segment = segment,
         .where = where ? &*where : nullptr,
         .render = {.format = rmap::ReportFormats().at(format),
                    .max_rows = parser.is_given("--rows") ? rows : 0,
                    .color = UseColor(color),
                    .width = TerminalWidth()},
         .show_progress = ShowProgress() && !no_progress});
    if (!answer.ok() && where && absl::IsInvalidArgument(answer.status())) {
      return parser.UsageError(std::string(answer.status().message()));
    }
    if (!answer.ok()) return ReportFailure(kReportVerb.name, answer.status());
    if (answer->interrupted) {
      SayInterrupted(answer->records);
      return PrintData(kReportVerb.name, answer->text, kExitInterrupted);
    }
    return PrintData(kReportVerb.name, answer->text,
                     fail_on_loss && answer->has_loss ? kExitLoss : kExitOk);
  }
  for (const char* option : {"--every", "--process", "--segment"}) {
    if (parser.is_given(option)) {
      return parser.UsageError(
          absl::StrFormat("%s needs --by time or --by phase", option));
    }
  }

  auto reader = OpenTrace(kReportVerb.name, trace);
  if (!reader.ok()) return ReportFailure(kReportVerb.name, reader.status());
  if (choice.wanted()) {
    std::vector<std::string> events;
    for (const rmap::EventPlan& event : rmap::PlanEvents((*reader)->info())) {
      events.push_back(event.name);
    }
    const absl::Status status = rules.Check(events);
    if (!status.ok()) return parser.UsageError(std::string(status.message()));
  }
  if (where) {
    const auto schema = rmap::EmptyReport((*reader)->info(), gating);
    if (!schema.ok()) return ReportFailure(kReportVerb.name, schema.status());
    // CSV is one table.
    const bool csv = format == "csv" && !choice.wanted();
    const ReportBy table = !by.empty() ? rmap::ReportTables().at(by)
                           : csv       ? ReportBy::kProcess
                                       : ReportBy::kDefault;
    const absl::Status status = rmap::where::CheckWhere(*where, *schema, table);
    if (!status.ok()) return parser.UsageError(std::string(status.message()));
  }
  ProgressBar progress("reading " + trace, ShowProgress() && !no_progress);
  const auto report =
      rmap::Reconstruct(**reader, {.gating = gating,
                                   .progress = ProgressBar::Callback,
                                   .progress_context = &progress,
                                   .keep_interrupted = true});
  progress.Clear();
  if (!report.ok()) return ReportFailure(kReportVerb.name, report.status());
  if (report->interrupted) SayInterrupted(report->records);

  if (by == "waker" && !report->wakeups && format != "text") {
    Say(kReportVerb.name,
        "no wake-ups were recorded: record --kernel wakeups tells who ended "
        "blocked time");
  }
  std::optional<rmap::RowSelection> selection;
  if (where) {
    auto selected = rmap::where::SelectRows(*where, *report);
    if (!selected.ok())
      return ReportFailure(kReportVerb.name, selected.status());
    selection = *std::move(selected);
  }
  const rmap::RenderOptions render = {
      .format = rmap::ReportFormats().at(format),
      .by = by.empty() ? ReportBy::kDefault : rmap::ReportTables().at(by),
      .max_rows = rows,
      .color = UseColor(color),
      .width = TerminalWidth(),
      .selection = selection ? &*selection : nullptr};
  const auto text =
      choice.wanted()
          ? RenderChosenMetrics(choice, rules, *report, render, gating)
          : absl::StatusOr<std::string>(rmap::RenderReport(*report, render));
  if (!text.ok() && absl::IsInvalidArgument(text.status())) {
    return parser.UsageError(std::string(text.status().message()));
  }
  if (!text.ok()) return ReportFailure(kReportVerb.name, text.status());
  if (report->interrupted) {
    return PrintData(kReportVerb.name, *text, kExitInterrupted);
  }
  const bool lossy = fail_on_loss && HasLoss(report->loss);
  return PrintData(kReportVerb.name, *text, lossy ? kExitLoss : kExitOk);
}

}  // namespace

const Verb kReportVerb = {"report", kReportHelp, RunReport};

}  // namespace countrace::cli
