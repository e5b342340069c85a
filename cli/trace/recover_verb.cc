#include <string>

#include "absl/strings/str_format.h"
#include "base/text/quantity_format.h"
#include "cli/program/exit_status.h"
#include "cli/program/help_texts.h"
#include "cli/program/trace_options.h"
#include "cli/program/verb.h"
#include "cli/program/verb_parser.h"
#include "logformat/loss.h"
#include "logformat/repair/trace_finish.h"

namespace countrace::cli {
namespace {

std::string Summary(const std::string& trace,
                    const logformat::FinishResult& result) {
  if (result.already_finished) {
    return absl::StrFormat("%s is a finished trace; nothing to do\n", trace);
  }
  std::string text = absl::StrFormat(
      "%s: kept %s records in %s packets of %s streams\n", trace,
      base::FormatCount(result.records), base::FormatCount(result.packets),
      base::FormatCount(result.streams));
  absl::StrAppendFormat(
      &text, "closed %s open packets, dropped %s unreadable ones, cut %s\n",
      base::FormatCount(result.closed_packets),
      base::FormatCount(result.dropped_packets),
      base::FormatBytes(result.cut_bytes));
  logformat::Loss loss;
  loss.AddDiscarded(result.discarded);
  for (const auto& what : result.not_recorded) loss.Add(what);
  loss.discarded_packets = result.dropped_packets;
  loss.damaged = result.failed;
  return text + logformat::StateLoss(loss).text + "\n";
}

int RunRecover(const Arguments& arguments) {
  VerbParser parser(kRecoverVerb);
  std::string trace = kDefaultTrace;
  bool force = false;
  parser.AddTrace(trace);
  parser.AddFlag("--force", force);
  if (const auto status = parser.Parse(arguments)) return *status;

  // A process of the recording may still run after its recorder has died.
  const auto result = logformat::FinishTrace(
      trace, {.processes_may_be_alive = true, .recorder_died = true}, force);
  if (!result.ok()) return ReportFailure(kRecoverVerb.name, result.status());
  for (const std::string& message : result->messages) {
    Say(kRecoverVerb.name, message);
  }
  return PrintData(kRecoverVerb.name, Summary(trace, *result));
}

}  // namespace

const Verb kRecoverVerb = {"recover", kRecoverHelp, RunRecover};

}  // namespace countrace::cli
