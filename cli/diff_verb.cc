#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "cli/exit_status.h"
#include "cli/interruption.h"
#include "cli/open_trace.h"
#include "cli/progress_bar.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "cli/verb_parser.h"
#include "rmap/diff/compare.h"
#include "rmap/diff/diff_render.h"
#include "rmap/pipeline.h"

namespace countrace::cli {
namespace {

using rmap::Report;
using rmap::diff::Diff;

constexpr VerbText kText = {
    .name = "diff",
    .summary = "what changed between two traces or sets of traces, how surely",
    .usage =
        "[options] BEFORE AFTER\n"
        "[options] --before TRACE... --after TRACE...",
    .details =
        "Rows are call paths of a program, by its command name: pids do not "
        "matter.\n"
        "With several runs a side, what the noise between runs explains is "
        "left out\n"
        "and counted. With one run each nothing is known of that noise; the "
        "output\n"
        "says so. Five runs a side are a good start.\n"
        "\n"
        "A threshold is [WHAT] N%: the status is 4 if WHAT surely grew by "
        "more, that\n"
        "is, if all of the interval lies above. WHAT is\n"
        "  total:METRIC    of all processes: on-CPU (default), wall, off-CPU, "
        "elapsed,\n"
        "                  or an event\n"
        "  SEGMENT:METRIC  per call, with the segments inside: wall (default), "
        "on-CPU,\n"
        "                  off-CPU, calls (per run), or an event\n"
        "\n"
        "Exit status: 0 no regression, 4 regression, 1 failed, 2 usage, 130 "
        "Ctrl-C.\n",
    .examples =
        "# what a change of the program did\n"
        "countrace record -o old.ctf -- ./server --bench\n"
        "countrace record -o new.ctf -- ./server-new --bench\n"
        "countrace diff old.ctf new.ctf\n"
        "\n"
        "# five runs each: noise is told from change\n"
        "for i in 1 2 3 4 5; do countrace record -o old$i.ctf -- ./server; "
        "done\n"
        "countrace diff --before old?.ctf --after new?.ctf\n"
        "\n"
        "# in CI: fails if a call of server:handle takes 10 % longer\n"
        "countrace diff --threshold 'server:handle:wall 10%' \\\n"
        "  --format markdown --before old?.ctf --after new?.ctf\n",
};

// Errors: said on stderr; then empty.
std::vector<Report> ReadAll(const std::vector<std::string>& traces,
                            bool progress_wanted, int& status) {
  std::vector<Report> reports;
  for (const std::string& trace : traces) {
    auto reader = OpenTrace(kText.name, trace);
    if (!reader.ok()) {
      status = ReportFailure(kText.name, reader.status());
      return {};
    }
    ProgressBar progress("reading " + trace, progress_wanted);
    auto report = rmap::Reconstruct(
        **reader,
        {.progress = ProgressBar::Callback, .progress_context = &progress});
    progress.Clear();
    if (absl::IsCancelled(report.status())) {
      Say(kText.name,
          absl::StrFormat("interrupted while %s was read, after %d of %d "
                          "traces: nothing is compared",
                          trace, reports.size(), traces.size()));
      status = kExitInterrupted;
      return {};
    }
    if (!report.ok()) {
      status = ReportFailure(kText.name, report.status());
      return {};
    }
    reports.push_back(*std::move(report));
  }
  return reports;
}

}  // namespace

int RunDiff(const Arguments& arguments) {
  VerbParser parser(kText);
  std::string one_before, one_after, format, color;
  std::vector<std::string> before, after, thresholds;
  rmap::diff::CompareOptions compare;
  rmap::diff::DiffRenderOptions render;
  std::uint64_t rows = 20;
  bool no_progress = false;
  parser.AddPositional("before_trace", one_before);
  parser.AddPositional("after_trace", one_after);
  parser.AddTextList("--before", "TRACE...", before,
                     "runs of the side that is compared with");
  parser.AddTextList("--after", "TRACE...", after,
                     "runs of the side that may have changed");
  parser.AddTexts("--threshold", "LIMIT", thresholds,
                  "exit with status 4 above this: 5%, 'total:elapsed 5%', "
                  "'server:handle:wall 10%'; may be repeated");
  parser.AddFlag("--all", render.all,
                 "also show what is within noise (marked ~)");
  parser.AddFlag("--any-process", compare.align.any_process,
                 "align by call path alone, whatever the programs are called");
  parser.AddNumber("--rows", "N", rows, ~std::uint64_t{0},
                   "call paths shown, 0 = all (default 20)");
  parser.AddForeign();
  parser.AddFormat(format, {"text", "json", "markdown"});
  parser.AddColor(color);
  parser.AddNoProgress(no_progress);
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
  for (const std::string& text : thresholds) {
    auto threshold = rmap::diff::ParseThreshold(text);
    if (!threshold.ok()) {
      const auto message = threshold.status().message();
      return parser.UsageError({message.data(), message.size()});
    }
    compare.thresholds.push_back(*std::move(threshold));
  }

  const InterruptionGuard guard;
  int status = kExitOk;
  const bool progress = ShowProgress() && !no_progress;
  const std::vector<Report> reports_before = ReadAll(before, progress, status);
  if (status != kExitOk) return status;
  const std::vector<Report> reports_after = ReadAll(after, progress, status);
  if (status != kExitOk) return status;
  const auto diff = Compare(reports_before, reports_after, compare);
  if (!diff.ok()) return ReportFailure(kText.name, diff.status());

  render.max_rows = rows;
  render.color = UseColor(color);
  render.width = TerminalWidth();
  const std::string text = format == "json" ? RenderDiffJson(*diff, render)
                           : format == "markdown"
                               ? RenderDiffMarkdown(*diff, render)
                               : RenderDiffText(*diff, render);
  return PrintData(kText.name, text,
                   diff->HasRegression() ? kExitRegression : kExitOk);
}

}  // namespace countrace::cli
