#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "cli/exit_status.h"
#include "cli/gating_options.h"
#include "cli/open_trace.h"
#include "cli/progress_bar.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "cli/verb_parser.h"
#include "rmap/pipeline.h"
#include "rmap/report_render.h"

namespace countrace::cli {
namespace {

using rmap::ReportBy;
using rmap::ReportFormat;

constexpr VerbText kText = {
    .name = "report",
    .summary = "who used what: processes, segments, books that balance",
    .usage = "[options] [TRACE]",
    .details =
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
        "(page-faults:u).\n",
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
        "# for programs: stable names, integer nanoseconds\n"
        "countrace report --format json web.ctf | jq .books\n",
};

const std::map<std::string, ReportFormat> kFormats = {
    {"text", ReportFormat::kText},
    {"json", ReportFormat::kJson},
    {"jsonl", ReportFormat::kJsonLines},
    {"csv", ReportFormat::kCsv}};

const std::map<std::string, ReportBy> kTables = {
    {"process", ReportBy::kProcess}, {"thread", ReportBy::kThread},
    {"segment", ReportBy::kSegment}, {"path", ReportBy::kPath},
    {"cpu", ReportBy::kCpu},         {"hook", ReportBy::kHook}};

template <typename Value>
std::vector<std::string> Names(const std::map<std::string, Value>& values) {
  std::vector<std::string> names;
  for (const auto& [name, value] : values) names.push_back(name);
  return names;
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
  parser.AddTrace(trace);
  parser.AddChoice("--by", "WHAT", by, Names(kTables),
                   "one table: process, thread, segment, path, cpu or hook "
                   "(default: summary, processes, segments, books, loss)");
  parser.AddNumber("--rows", "N", rows, ~std::uint64_t{0},
                   "rows of each text table, 0 = all (default 20)");
  parser.AddText("--count", "WHAT", count,
                 "count only this of what was recorded: user, kernel, marked, "
                 "unmarked, separated by commas, all or none (default: marked "
                 "with --mark, else all)");
  parser.AddTexts("--mark", "WHO", marks,
                  "marks to use instead of the trace's: PID, a glob on the "
                  "command's name, self (the recorder); separated by commas");
  parser.AddFormat(format, {"text", "json", "jsonl", "csv"});
  parser.AddColor(color);
  parser.AddFailOnLoss(fail_on_loss);
  parser.AddNoProgress(no_progress);
  if (const auto status = parser.Parse(arguments)) return *status;

  if (const auto problem =
          ParseGatingOptions(count, marks, gating.count, gating.marks)) {
    return parser.UsageError(*problem);
  }
  auto reader = OpenTrace(kText.name, trace);
  if (!reader.ok()) return ReportFailure(kText.name, reader.status());
  ProgressBar progress("reading " + trace, ShowProgress() && !no_progress);
  const auto report =
      rmap::Reconstruct(**reader, {.gating = gating,
                                   .progress = ProgressBar::Callback,
                                   .progress_context = &progress});
  progress.Clear();
  if (!report.ok()) return ReportFailure(kText.name, report.status());

  const std::string text = rmap::RenderReport(
      *report, {.format = kFormats.at(format),
                .by = by.empty() ? ReportBy::kDefault : kTables.at(by),
                .max_rows = rows,
                .color = UseColor(color),
                .width = TerminalWidth()});
  const bool lossy = fail_on_loss && HasLoss(report->loss);
  return PrintData(kText.name, text, lossy ? kExitLoss : kExitOk);
}

}  // namespace countrace::cli
