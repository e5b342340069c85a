#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "cli/exit_status.h"
#include "cli/gating_options.h"
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

constexpr VerbText kText = {
    .name = "report",
    .summary = "who used what: processes, segments, books that balance",
    .usage = "[options] [TRACE...]",
    .details =
        "Metrics are rules over the counts of each row: shipped ones "
        "(countrace\n"
        "list metrics), those of --rules files (TOML), and --metric. A metric\n"
        "whose counts the trace lacks is absent and says what it needs.\n"
        "\n"
        "Every event has a book: processes + own cost + idle + interrupts +\n"
        "outside + unattributed + residual = total. A residual of 0 means "
        "that\n"
        "nothing is missing. Numbers that are not exact say so.\n"
        "\n"
        "--count and --mark leave out after the fact what `record` would have "
        "left\n"
        "out: processes that are not counted are the account outside. A mark "
        "is\n"
        "inherited by forked processes; a name marks from when a process has "
        "it.\n"
        "Of user or kernel mode there are the events recorded so "
        "(page-faults:u).\n"
        "\n"
        "--where shows only rows of which an expression is true. Fields are "
        "the\n"
        "names of the columns in JSON: comm, pid, wall_ns.incl (or wall_ns), "
        "and\n"
        "counts by event (page-faults); `...` quotes a name. == != < <= > >= "
        "take\n"
        "numbers (4k, 1.5M, 64Ki, 20ms; of times ns if there is no unit), == "
        "and\n"
        "!= also texts in quotes, =~ and !~ a pattern; && || !( ) join them. "
        "Of a\n"
        "value that the trace cannot say no comparison is true, nor its "
        "negation.\n"
        "A table whose rows lack one of the fields is left out, and that is "
        "said.\n"
        "Books, shares and metrics stay those of the whole trace.\n"
        "\n"
        "--by time prints the books of each interval; the sums over all of\n"
        "them are the report's (own cost is among the processes). Time is cut\n"
        "where an interval ends; a count between two dumps that is cut there\n"
        "is split by time and marked ~. --by phase cuts the trace where "
        "shares\n"
        "of CPU time and rates change for good, and says what changed.\n"
        "\n"
        "Ctrl-C ends the reading: what was read until then is printed and "
        "said to\n"
        "be that (JSON trace.interrupted), with exit status 130.\n",
    .examples =
        "# the summary of ./countrace.ctf\n"
        "countrace report\n"
        "\n"
        "# every call path of a trace\n"
        "countrace report --by path --rows 0 web.ctf\n"
        "\n"
        "# only the compiler and what it starts, of a trace of everything\n"
        "countrace report --mark 'cc1*' web.ctf\n"
        "\n"
        "# only some rows, and how much of the total they are\n"
        "countrace report --where 'comm == \"redis\" && segment =~ "
        "\"cmd.*\"' web.ctf\n"
        "countrace report --by thread --where 'wait_ns > 20ms || comm =~ "
        "\"^kw\"' web.ctf\n"
        "\n"
        "# who ended the blocked time of a server's requests\n"
        "countrace report --by waker --where 'path =~ \"server:\"' web.ctf\n"
        "\n"
        "# who had the CPUs every 10 ms, and how often a segment was called\n"
        "countrace report --by time --every 10ms --segment 'server:*' web.ctf\n"
        "\n"
        "# all metrics, and one of your own for each segment\n"
        "countrace report --metrics web.ctf\n"
        "countrace report --by segment --metric 'wait = off_cpu_ns / calls' "
        "web.ctf\n"
        "\n"
        "# for programs: stable names, integer nanoseconds\n"
        "countrace report --format json web.ctf | jq .books\n",
};

// What was read is printed all the same.
void SayInterrupted(std::uint64_t records) {
  Say(kText.name,
      absl::StrFormat(
          "interrupted: what follows is of the %d records that were "
          "read until then, not of the whole trace",
          records));
}

bool HasLoss(const rmap::Loss& loss) {
  return loss.discarded_events > 0 || loss.discarded_packets > 0 ||
         loss.clock_errors > 0;
}

}  // namespace

int RunReport(const Arguments& arguments) {
  VerbParser parser(kText);
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
  parser.AddChoice(
      "--by", "WHAT", by, tables,
      "one table: process, thread, segment, path, cpu, hook, "
      "waker, time or phase (default: summary, processes, segments, "
      "books, loss)");
  parser.AddDuration("--every", every_ns,
                     "of --by time and phase: how long an interval is "
                     "(default: chosen by the trace's length)");
  parser.AddText("--process", "GLOB", process,
                 "of --by time and phase: these processes by themselves, too");
  parser.AddText("--segment", "GLOB", segment,
                 "of --by time and phase: calls of these segments, too");
  parser.AddText("--where", "EXPR", where_text,
                 "only rows of which this is true, such as 'comm == \"make\" "
                 "&& on_cpu_ns > 20ms'");
  parser.AddNumber("--rows", "N", rows, ~std::uint64_t{0},
                   "rows of each text table, 0 = all (default 20; of --by "
                   "time all)");
  parser.AddText("--count", "WHAT", count,
                 "count only this of what was recorded: user, kernel, marked, "
                 "unmarked, separated by commas, all or none (default: marked "
                 "with --mark, else all)");
  parser.AddTexts("--mark", "WHO", marks,
                  "marks to use instead of the trace's: PID, a glob on the "
                  "command's name, self (the recorder); separated by commas");
  parser.AddFlagWithText("--metrics", "*", choice.glob,
                         "metrics instead of counts, or with =GLOB those of "
                         "that name");
  parser.AddTexts("--metric", "RULE", choice.rules,
                  "a metric of your own, 'NAME = EXPRESSION'; may be given "
                  "more than once");
  parser.AddTexts("--rules", "FILE", choice.files,
                  "metrics of a rule file; may be given more than once");
  parser.AddTexts("--with", "LABEL=TRACE", choice.traces,
                  "another trace, known to metrics as @LABEL.NAME");
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
    if (!answer.ok()) return ReportFailure(kText.name, answer.status());
    if (answer->interrupted) {
      SayInterrupted(answer->records);
      return PrintData(kText.name, answer->text, kExitInterrupted);
    }
    return PrintData(kText.name, answer->text,
                     fail_on_loss && answer->has_loss ? kExitLoss : kExitOk);
  }
  for (const char* option : {"--every", "--process", "--segment"}) {
    if (parser.is_given(option)) {
      return parser.UsageError(
          absl::StrFormat("%s needs --by time or --by phase", option));
    }
  }

  auto reader = OpenTrace(kText.name, trace);
  if (!reader.ok()) return ReportFailure(kText.name, reader.status());
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
    if (!schema.ok()) return ReportFailure(kText.name, schema.status());
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
  if (!report.ok()) return ReportFailure(kText.name, report.status());
  if (report->interrupted) SayInterrupted(report->records);

  if (by == "waker" && !report->wakeups && format != "text") {
    Say(kText.name,
        "no wake-ups were recorded: record --kernel wakeups tells who ended "
        "blocked time");
  }
  std::optional<rmap::RowSelection> selection;
  if (where) {
    auto selected = rmap::where::SelectRows(*where, *report);
    if (!selected.ok()) return ReportFailure(kText.name, selected.status());
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
  if (!text.ok()) return ReportFailure(kText.name, text.status());
  if (report->interrupted) {
    return PrintData(kText.name, *text, kExitInterrupted);
  }
  const bool lossy = fail_on_loss && HasLoss(report->loss);
  return PrintData(kText.name, *text, lossy ? kExitLoss : kExitOk);
}

}  // namespace countrace::cli
