#include "cli/dump_rules_dry_run.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "cli/exit_status.h"
#include "cli/open_trace.h"
#include "cli/progress_bar.h"
#include "cli/quantity.h"
#include "cli/row_table.h"
#include "cli/terminal.h"
#include "runtime/rules/rule_remarks.h"
#include "runtime/rules/rule_replay.h"

namespace countrace::cli {
namespace {

constexpr char kVerb[] = "record";

bool OnProgress(void* context, std::uint64_t done, std::uint64_t total) {
  static_cast<ProgressBar*>(context)->Update(done, total);
  return true;
}

// A row of the table: of a bounded count the most, with 0 as the least.
void AddRow(RowTable& table, const std::string& rule,
            const runtime::ReplayedRule& replayed, std::uint64_t dump_bytes) {
  const bool bounded = replayed.quality == runtime::ReplayQuality::kBounded;
  table.Add({rule, replayed.hooks, replayed.records,
             bounded ? std::uint64_t{0} : replayed.dumps, replayed.dumps,
             replayed.dumps * dump_bytes,
             std::string(runtime::ReplayQualityName(replayed.quality))});
}

}  // namespace

int DryRunDumpRules(const DryRun& dry_run) {
  const auto trace = OpenTrace(kVerb, dry_run.trace);
  if (!trace.ok()) return ReportFailure(kVerb, trace.status());
  const std::size_t counters = dry_run.counters != 0
                                   ? dry_run.counters
                                   : (*trace)->info().thread_events.size();
  if (counters == 0) {
    Say(kVerb, absl::StrFormat("%s has no counters at hooks, so the size of a "
                               "dump is not known: say "
                               "which counters you mean with --hook-events",
                               dry_run.trace));
    return kExitUsage;
  }
  const std::uint64_t tick_ns = runtime::KernelTickNs();
  ProgressBar progress("replaying " + dry_run.trace, ShowProgress());
  const auto result = runtime::ReplayDumpRules(**trace, dry_run.rules, tick_ns,
                                               OnProgress, &progress);
  progress.Clear();
  if (!result.ok()) return ReportFailure(kVerb, result.status());

  RowTable table(
      "countrace.dump_rules/1", "rules",
      {"rule", "hooks", "records", "dumps_least", "dumps", "bytes", "quality"});
  const std::uint64_t dump_bytes = runtime::DumpBytes(counters);
  runtime::ReplayedRule total = result->unmatched;
  std::uint64_t least = 0;
  for (std::size_t i = 0; i < dry_run.rules.size(); ++i) {
    const runtime::ReplayedRule& replayed = result->rules[i];
    AddRow(table, dry_run.rules[i].text, replayed, dump_bytes);
    total.hooks += replayed.hooks;
    total.records += replayed.records;
    total.dumps += replayed.dumps;
    total.quality = std::max(total.quality, replayed.quality);
    if (replayed.quality != runtime::ReplayQuality::kBounded) {
      least += replayed.dumps;
    }
  }
  AddRow(table, "(no rule)", result->unmatched, dump_bytes);
  table.Add({std::string("(total)"), total.hooks, total.records, least,
             total.dumps, total.dumps * dump_bytes,
             std::string(runtime::ReplayQualityName(total.quality))});

  for (const std::string& remark :
       runtime::RuleRemarks(dry_run.rules, (*trace)->info().hooks)) {
    Say(kVerb, remark);
  }
  if (result->lost != 0) {
    Say(kVerb, absl::StrFormat("%s lost %s event records or more: dumps among "
                               "them are missing here",
                               dry_run.trace, FormatCount(result->lost)));
  }
  Say(kVerb,
      absl::StrFormat("a dump adds %d bytes (counters=%d); dumps at all %s "
                      "records would be %s",
                      dump_bytes, counters, FormatCount(total.records),
                      FormatBytes(total.records * dump_bytes)));
  return PrintData(kVerb, table.Render(dry_run.format));
}

}  // namespace countrace::cli
