#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/text/quantity_format.h"
#include "cli/program/exit_status.h"
#include "cli/program/help_texts.h"
#include "cli/program/progress_bar.h"
#include "cli/program/runtime_library.h"
#include "cli/program/verb.h"
#include "cli/program/verb_parser.h"
#include "cli/record/dump_rules_dry_run.h"
#include "cli/record/record_command_line.h"
#include "cli/record/record_exit.h"
#include "cli/record/record_into_lttng.h"
#include "cli/record/record_request.h"
#include "runtime/recorder/events/event_set_choice.h"
#include "runtime/recorder/events/vocabulary_event.h"
#include "runtime/recorder/record.h"
#include "runtime/rules/dump_rule_text.h"

namespace countrace::cli {
namespace {

void SaySummary(const runtime::RecordResult& result, const std::string& loss) {
  Say(kRecordVerb.name,
      absl::StrFormat(
          "%s: %s records, %s in %s streams, %s", result.path,
          base::FormatCount(result.records), base::FormatBytes(result.bytes),
          base::FormatCount(result.streams),
          base::FormatNanoseconds(static_cast<double>(result.elapsed_ns))));
  Say(kRecordVerb.name,
      absl::StrFormat("%s processes with hooks joined; %s",
                      base::FormatCount(result.processes_joined), loss));
}

int TryDumpRules(const VerbParser& parser, const RecordCommandLine& line) {
  const auto rules = runtime::ParseDumpRules(line.record.dump_rules);
  if (!rules.ok()) {
    return parser.UsageError(std::string(rules.status().message()));
  }
  if (!line.record.command.empty()) {
    return parser.UsageError("--dry-run-rules runs no command");
  }
  if (rules->empty()) {
    return parser.UsageError(
        "--dry-run-rules tries out dump rules: give one with --dump, for "
        "example --dump 'server:* every 100'");
  }
  return DryRunDumpRules({line.dry_run_trace, *rules,
                          runtime::SplitEvents(line.hook_events).size(),
                          line.format});
}

int Record(runtime::RecordOptions record, bool quiet, bool fail_on_loss) {
  const bool unbounded = record.command.empty() && record.duration_ns == 0;
  if (unbounded && !quiet) {
    Say(kRecordVerb.name, record.pids.empty()
                              ? "recording the whole machine; Ctrl-C ends"
                              : "recording until the processes end or Ctrl-C");
  }
  if (record.flight_ns != 0 && !quiet) {
    Say(kRecordVerb.name,
        absl::StrFormat(
            "keeping the newest %s, at most %s of records (--size)",
            base::FormatNanoseconds(static_cast<double>(record.flight_ns)),
            base::FormatBytes(record.max_bytes)));
  }
  // While a command runs, the terminal belongs to the command.
  const bool shown = ShowProgress() && record.command.empty() && !quiet;
  ProgressBar progress("recording", shown);
  if (shown) {
    record.progress = [&](std::uint64_t bytes, std::uint64_t elapsed_ns) {
      progress.Update(base::FormatClock(elapsed_ns) + ", " +
                      base::FormatBytes(bytes));
    };
  }
  ProgressBar attaching("attaching probes", ShowProgress() && !quiet);
  record.attaching = [&](std::size_t done, std::size_t all) {
    attaching.Update(done, all);
    if (done == all) attaching.Clear();
  };
  record.notice = [&](const std::string& text) {
    if (quiet) return;
    progress.Clear();
    Say(kRecordVerb.name, text);
  };
  const auto result = runtime::Record(record);
  progress.Clear();
  if (!result.ok()) {
    return RecordFailure(kRecordVerb.name, result.status());
  }

  const logformat::LossStatement loss = logformat::StateLoss(result->loss);
  if (!quiet || !loss.complete) {
    for (const std::string& message : result->messages) {
      Say(kRecordVerb.name, message);
    }
    for (const std::string& snapshot : result->snapshots) {
      Say(kRecordVerb.name, "snapshot: " + snapshot);
    }
    SaySummary(*result, loss.text);
  }
  if (result->command_ran) {
    const int status = CommandExitStatus(result->command_status);
    if (status != 0) return status;
  }
  if (result->failed) return kExitFailed;
  return ExitOf(loss, fail_on_loss);
}

int RunRecord(const Arguments& arguments) {
  VerbParser parser(kRecordVerb);
  RecordCommandLine line;
  AddRecordOptions(parser, line);
  if (const auto status = parser.Parse(arguments)) return *status;
  const absl::Status named = runtime::UseEventFile(line.event_file);
  if (!named.ok()) return ReportFailure(kRecordVerb.name, named);
  for (const std::string& word : PresetWords(line.preset)) {
    line.kernel_records.push_back(word);
  }
  if (line.backend == "lttng") return RecordIntoLttng(parser, line);
  if (parser.is_given("--dry-run-rules")) return TryDumpRules(parser, line);

  auto request = MakeRecordRequest(parser, line);
  if (!request.ok()) {
    return parser.UsageError(std::string(request.status().message()));
  }
  auto library = FindRuntimeLibrary();
  if (!library.ok()) return ReportFailure(kRecordVerb.name, library.status());
  request->runtime_library = *std::move(library);
  return Record(*std::move(request), line.quiet, line.fail_on_loss);
}

}  // namespace

const Verb kRecordVerb = {"record", kRecordHelp, RunRecord,
                          runtime::FileRights::kRecord};

}  // namespace countrace::cli
