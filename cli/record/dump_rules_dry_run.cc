#include "cli/record/dump_rules_dry_run.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "base/text/quantity_format.h"
#include "cli/program/exit_status.h"
#include "cli/program/progress_bar.h"
#include "cli/program/row_table.h"
#include "cli/program/terminal.h"
#include "cli/trace/trace_input.h"
#include "runtime/rules/rule_remarks.h"
#include "runtime/rules/rule_replay.h"

namespace countrace::cli {
namespace {

constexpr char kVerb[] = "record";

// Bytes that one dump adds to a record.
struct DumpSize {
  std::uint64_t program, kernel;  // at hooks of programs, at kernel-side ones
  std::uint64_t Of(std::uint64_t all, std::uint64_t of_kernel) const {
    return (all - of_kernel) * program + of_kernel * kernel;
  }
};

// Adds a row to the table; a bounded count has its maximum, and 0 as minimum.
void AddRow(RowTable& table, const std::string& rule,
            const runtime::ReplayedRule& replayed, const DumpSize& size) {
  const bool bounded = replayed.quality == runtime::ReplayQuality::kBounded;
  table.Add({rule, replayed.hooks, replayed.records,
             bounded ? std::uint64_t{0} : replayed.dumps, replayed.dumps,
             size.Of(replayed.dumps, replayed.kernel_dumps),
             std::string(runtime::ReplayQualityName(replayed.quality))});
}

bool HasKernelHooks(const logformat::TraceInfo& info) {
  return std::any_of(info.hooks.begin(), info.hooks.end(),
                     [](const logformat::HookInfo& hook) {
                       return hook.origin != logformat::HookOrigin::kProgram;
                     });
}

// Words that a dump adds to a kernel hook's record.
std::size_t KernelWords(const logformat::TraceInfo& info) {
  const logformat::EventSets sets = info.cpu_sets();
  return sets.slots() + (sets.rotates() ? 1 : 0);
}

// Adds a row for each rule. Returns: their sum.
runtime::ReplayedRule AddRows(const DryRun& dry_run,
                              const runtime::ReplayResult& result,
                              const DumpSize& size, RowTable& table) {
  runtime::ReplayedRule total = result.unmatched;
  std::uint64_t least = 0;
  for (std::size_t i = 0; i < dry_run.rules.size(); ++i) {
    const runtime::ReplayedRule& replayed = result.rules[i];
    AddRow(table, dry_run.rules[i].text, replayed, size);
    total.hooks += replayed.hooks;
    total.records += replayed.records;
    total.dumps += replayed.dumps;
    total.kernel_records += replayed.kernel_records;
    total.kernel_dumps += replayed.kernel_dumps;
    total.quality = std::max(total.quality, replayed.quality);
    if (replayed.quality != runtime::ReplayQuality::kBounded) {
      least += replayed.dumps;
    }
  }
  AddRow(table, "(no rule)", result.unmatched, size);
  table.Add({std::string("(total)"), total.hooks, total.records, least,
             total.dumps, size.Of(total.dumps, total.kernel_dumps),
             std::string(runtime::ReplayQualityName(total.quality))});
  return total;
}

void SayWhatIsMissing(const DryRun& dry_run,
                      const runtime::ReplayResult& result,
                      const logformat::TraceInfo& info) {
  for (std::size_t i = 0; i < dry_run.rules.size(); ++i) {
    if (!result.rules[i].unknown_at_kernel_hooks) continue;
    Say(kVerb, absl::StrFormat(
                   "Dump rule \"%s\" needs arguments or the caller at "
                   "kernel-side hooks, which the log does not hold: the dumps "
                   "are bounds",
                   dry_run.rules[i].text));
  }
  for (const std::string& remark :
       runtime::RuleRemarks(dry_run.rules, info.hooks)) {
    Say(kVerb, remark);
  }
  if (result.lost != 0) {
    Say(kVerb, absl::StrFormat("%s lost %s event records or more: dumps among "
                               "them are missing here",
                               dry_run.trace, base::FormatCount(result.lost)));
  }
}

std::string SizesText(std::size_t counters, const logformat::TraceInfo& info,
                      const DumpSize& size) {
  std::string sizes;
  if (counters != 0) {
    sizes = absl::StrFormat("a dump adds %d bytes (counters=%d)", size.program,
                            counters);
  } else {
    sizes = "hooks of programs carry no counters without --hook-events";
  }
  if (HasKernelHooks(info)) {
    sizes += absl::StrFormat(
        ", at a kernel-side hook one adds %d bytes (counters=%d)", size.kernel,
        KernelWords(info));
  }
  return sizes;
}

}  // namespace

int DryRunDumpRules(const DryRun& dry_run) {
  const TraceOptions options;
  TraceInput input(kVerb, options);
  const auto trace = input.Open(dry_run.trace);
  if (!trace.ok()) return ReportFailure(kVerb, trace.status());
  const logformat::TraceInfo& info = (*trace)->info();
  const std::size_t counters =
      dry_run.counters != 0 ? dry_run.counters : info.thread_sets().slots();
  if (counters == 0 && !HasKernelHooks(info)) {
    Say(kVerb, absl::StrFormat("%s has no counters at hooks, so the size of a "
                               "dump is not known: choose the counters with "
                               "--hook-events",
                               dry_run.trace));
    return kExitUsage;
  }
  const std::uint64_t tick_ns = runtime::KernelTickNs();
  ProgressBar progress("replaying " + dry_run.trace, input.show_progress());
  auto result = runtime::ReplayDumpRules(
      **trace, dry_run.rules, tick_ns, [&](const logformat::Progress& read) {
        progress.Update(read.done, read.total);
        return true;
      });
  progress.Clear();
  if (!result.ok()) return ReportFailure(kVerb, result.status());
  if (counters == 0) {
    // Default as in a recording without --hook-events.
    for (runtime::ReplayedRule& replayed : result->rules) {
      replayed.dumps = replayed.kernel_dumps;
    }
  }

  RowTable table(
      "countrace.dump_rules/1", "rules",
      {"rule", "hooks", "records", "dumps_least", "dumps", "bytes", "quality"});
  const DumpSize size = {counters == 0 ? 0 : runtime::DumpBytes(counters),
                         runtime::KernelDumpBytes(KernelWords(info))};
  const runtime::ReplayedRule total = AddRows(dry_run, *result, size, table);
  SayWhatIsMissing(dry_run, *result, info);
  Say(kVerb,
      absl::StrFormat(
          "%s; dumps at all %s records would be %s",
          SizesText(counters, info, size), base::FormatCount(total.records),
          base::FormatBytes(size.Of(total.records, total.kernel_records))));
  return PrintData(kVerb, table.Render(dry_run.format));
}

}  // namespace countrace::cli
