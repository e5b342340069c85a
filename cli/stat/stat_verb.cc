#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/posix/output_width.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "cli/program/exit_status.h"
#include "cli/program/help_texts.h"
#include "cli/program/named_output.h"
#include "cli/program/terminal.h"
#include "cli/program/verb.h"
#include "cli/program/verb_parser.h"
#include "cli/record/record_exit.h"
#include "cli/stat/stat_command_line.h"
#include "cli/stat/stat_costs.h"
#include "cli/stat/stat_live.h"
#include "cli/stat/stat_recording.h"
#include "cli/stat/stat_top.h"
#include "logformat/description/recorded_part.h"
#include "rmap/report/report_render.h"
#include "rmap/report/report_views.h"
#include "rmap/stat/stat_render.h"
#include "runtime/recorder/events/vocabulary_event.h"

namespace countrace::cli {
namespace {

bool Interrupted(const runtime::RecordResult& recorded) {
  return !recorded.command_usage ||
         (WIFSIGNALED(recorded.command_status) &&
          WTERMSIG(recorded.command_status) == SIGINT);
}

// What a reader of the numbers must know.
void AddNotes(const StatRun& run, std::vector<std::string>& notes) {
  if (run.report.books.empty()) {
    notes.emplace_back(
        "without kernel records: of the command from its fork on, and of the "
        "children that were waited for; `countrace doctor` says what is "
        "missing "
        "for the rest");
  }
  const logformat::LossStatement loss = logformat::StateLoss(run.report.loss);
  if (!loss.complete) {
    notes.push_back(
        loss.text +
        (run.report.loss.discarded_events != 0
             ? ": what records held is in the intervals; a TMPDIR with more "
               "room, or `countrace record --sub-buffers`, loses fewer"
             : ""));
  }
  notes.insert(notes.end(), run.report.not_known.begin(),
               run.report.not_known.end());
  for (std::string& note : rmap::NotCountedNotes(run.report)) {
    notes.push_back(std::move(note));
  }
  for (const logformat::TriggerFiring& trigger : run.report.triggers) {
    notes.push_back(trigger.trigger + ": " + trigger.what);
  }
  for (const std::string& message : run.recorded.messages) {
    if (message.starts_with("Trigger")) notes.push_back(message);
  }
  if (run.report.pauses != 0) {
    notes.push_back(
        logformat::PausesText(run.report.pauses, run.report.left_out_ns));
  }
  if (!run.splits_missing.empty()) {
    notes.push_back("user and system time of threads are not known: " +
                    run.splits_missing);
  }
  if (run.report.hidden_switches != 0) {
    notes.push_back(absl::StrFormat(
        "the kernel did not show %s switches: what ran meanwhile is in the "
        "intervals",
        base::FormatCount(run.report.hidden_switches)));
  }
}

std::string RowsText(const rmap::Report& report, const StatCommandLine& line,
                     std::size_t width, bool color) {
  rmap::RenderOptions options;
  options.by =
      line.by == "thread" ? rmap::ReportBy::kThread : rmap::ReportBy::kProcess;
  options.max_rows = line.rows;
  options.width = width;
  options.color = color;
  const std::string text = rmap::RenderReport(report, options);
  // The summary before the table is that of a trace.
  const std::size_t table = text.find("\n\n");
  return table == text.npos ? text : text.substr(table + 1);
}

std::string Render(const StatCommandLine& line, const rmap::StatResult& result,
                   const rmap::Report& last,
                   const std::vector<ThreadSplit>& splits) {
  if (line.json) return rmap::StatJson(result);
  if (line.csv) return rmap::StatCsv(result);
  const int fd = line.command.empty() ? STDOUT_FILENO : STDERR_FILENO;
  const bool to_file = !line.output.empty();
  const std::size_t width = to_file ? base::kAnyWidth : base::OutputWidth(fd);
  const bool color = !to_file && UseColor("auto") && IsTerminal(fd);
  std::string text = rmap::StatText(result, width, color);
  if (!line.by.empty()) text += RowsText(last, line, width, color);
  if (line.by == "thread") text += ThreadSplitText(last, splits, line.rows);
  return text;
}

// Returns: `status`, or kExitFailed with a message.
int Write(const StatCommandLine& line, NamedOutput& file,
          const std::string& text, int status) {
  if (!line.output.empty()) {
    const absl::Status written = file.Write(text);
    if (written.ok()) return status;
    return ReportFailure(kStatVerb.name, written);
  }
  if (line.command.empty()) return PrintData(kStatVerb.name, text, status);
  // Standard output is the command's.
  const bool all =
      std::fwrite(text.data(), 1, text.size(), stderr) == text.size();
  return all ? status : kExitFailed;
}

int Count(const StatCommandLine& line, const runtime::RecordOptions& record,
          std::optional<rmap::CostTable> costs) {
  NamedOutput file;
  if (!line.output.empty()) {  // now: no run is for nothing
    const absl::Status opened = file.Open(line.output);
    if (!opened.ok()) return ReportFailure(kStatVerb.name, opened);
  }
  rmap::StatResult result;
  result.costs = std::move(costs);
  result.of = CountedBy(line);
  int status = kExitOk;
  rmap::Report last;
  std::vector<ThreadSplit> splits;
  for (std::uint64_t i = 0; i < line.repeat; ++i) {
    auto run = RunOnce(line, record);
    if (!run.ok()) return RecordFailure(kStatVerb.name, run.status());
    if (run->recorded.command_ran) {
      const int ended = CommandExitStatus(run->recorded.command_status);
      if (status == kExitOk) status = ended;
      result.exit_status = status;
    }
    const bool stop = line.repeat > 1 && Interrupted(run->recorded);
    if (stop) {
      result.notes.push_back(
          absl::StrFormat("interrupted: %d of %d runs ended", i, line.repeat));
      if (i != 0) break;  // a part of a run is no run
    }
    AddNotes(*run, result.notes);
    result.cpus = run->report.cpus;
    result.runs.push_back(std::move(run->numbers));
    last = std::move(run->report);
    splits = std::move(run->splits);
    if (stop) break;
  }
  if (line.json && line.repeat == 1) {
    result.rows_json =
        WithThreadSplits(rmap::RenderJson(last, {}), last, splits);
  }
  return Write(line, file, Render(line, result, last, splits), status);
}

int RunStat(const Arguments& arguments) {
  VerbParser parser(kStatVerb);
  StatCommandLine line;
  AddStatOptions(parser, line);
  if (const auto status = parser.Parse(arguments)) return *status;
  if (!line.counts.empty()) return StatOfCounts(parser, line);
  const absl::Status named = runtime::UseEventFile(line.event_file);
  if (!named.ok()) return ReportFailure(kStatVerb.name, named);
  const auto record = StatRecording(line);
  if (absl::IsPermissionDenied(record.status())) {
    return ReportFailure(kStatVerb.name, record.status());
  }
  if (!record.ok()) {
    return parser.UsageError(std::string(record.status().message()));
  }
  if (parser.is_given("--prometheus")) return StatPrometheus(parser, line);
  if (line.top) return StatTop(parser, line, *record);
  if (!line.cost.empty()) {
    auto costs = OpenCostTable(line.cost);
    if (!costs.ok()) return ReportFailure(kStatVerb.name, costs.status());
    return Count(line, *record, *std::move(costs));
  }
  return line.every_ns != 0 ? StatLive(parser, line, *record)
                            : Count(line, *record, std::nullopt);
}

}  // namespace

const Verb kStatVerb = {"stat", kStatHelp, RunStat,
                        runtime::FileRights::kRecord};

}  // namespace countrace::cli
