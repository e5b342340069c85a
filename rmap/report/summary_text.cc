#include "rmap/report/summary_text.h"

#include "absl/strings/str_format.h"
#include "base/posix/output_width.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "base/text/text_table.h"
#include "logformat/description/recorded_part.h"
#include "rmap/tables/bounds/bounds_summary.h"

namespace countrace::rmap {
namespace {

// How many numbers have limits, why, and how wide they are.
std::string LimitsLine(const Report& report) {
  const BoundsSummary bounds = SummaryOfBounds(report);
  if (bounds.numbers == 0) return "";
  std::string line = absl::StrFormat("limits: %s numbers of rows are not exact",
                                     base::FormatCount(bounds.numbers));
  const std::uint64_t limited = bounds.numbers - bounds.without_limit;
  if (limited != 0) {
    line +=
        absl::StrFormat("; the limits of %s are %.1f %% apart on average",
                        base::FormatCount(limited), 100 * bounds.mean_width);
  }
  if (bounds.without_limit != 0) {
    line += absl::StrFormat(", %s have no upper limit",
                            base::FormatCount(bounds.without_limit));
  }
  line += "\n";
  if (!bounds.bounded) return line;
  for (const BoundsReason& reason : BoundsReasons(report)) {
    line += absl::StrFormat("  b: %s: %s\n", reason.what, reason.remedy);
  }
  return line;
}

// One line for each host: its clock, and what was lost there.
std::string HostsText(const Report& report) {
  constexpr auto kLeft = base::TextTable::Align::kLeft;
  constexpr auto kRight = base::TextTable::Align::kRight;
  base::TextTable table;
  table.AddColumn("host", kLeft);
  for (const char* title : {"CPUs", "records", "lost", "begin", "+-"}) {
    table.AddColumn(title, kRight);
  }
  table.AddColumn("clock", kLeft);
  table.AddColumn("trace", kLeft);
  for (const ReportHost& host : report.hosts) {
    table.AddRow(
        {base::EscapeName(host.name), std::to_string(host.cpus),
         base::FormatCount(host.records),
         logformat::StateLoss(host.loss).is_loss
             ? base::FormatCount(host.loss.discarded_events)
             : "-",
         "+" + base::FormatSeconds(host.begin_ns - report.begin_ns),
         host.within_ns == 0
             ? "exact"
             : base::FormatNanoseconds(static_cast<double>(host.within_ns)),
         base::EscapeName(host.clock), base::EscapeName(host.path)});
  }
  return "\nHOSTS\n" + table.Render(base::kAnyWidth, /*color=*/false) + "\n";
}

// How the CPUs spent their time; empty: not known.
std::string CpuTimeText(const Report& report) {
  std::uint64_t wall = 0, busy = 0, idle = 0, outside = 0, unattributed = 0;
  std::uint64_t interrupts = 0;
  for (const CpuRow& row : report.cpu_rows) {
    wall += row.wall_ns;
    busy += row.busy_ns;
    idle += row.idle_ns;
    interrupts += row.interrupts_ns;
    outside += row.outside_ns;
    unattributed += row.unattributed_ns;
  }
  if (wall == 0) return "";
  std::string out =
      absl::StrFormat("CPU time: %s busy, ", base::FormatShare(busy, wall));
  if (report.scope == "command" || (outside != 0 && idle == 0)) {
    out +=
        base::FormatShare(outside, wall) + " outside (other processes, idle)";
  } else {
    out += base::FormatShare(idle, wall) + " idle";
    if (outside != 0)
      out += ", " + base::FormatShare(outside, wall) + " outside";
  }
  if (interrupts != 0) {
    out += ", " + base::FormatShare(interrupts, wall) + " interrupts";
  }
  if (unattributed != 0) {
    out += ", " + base::FormatShare(unattributed, wall) + " unattributed";
  }
  out += absl::StrFormat(" of %s\n",
                         base::FormatNanoseconds(static_cast<double>(wall)));
  return out;
}

}  // namespace

std::string SummaryText(const Report& report) {
  std::string out;
  const char* scope = report.scope == "mixed"     ? "several scopes"
                      : report.scope == "system"  ? "whole system"
                      : report.scope == "command" ? "one command"
                                                  : "hooks only";
  out += absl::StrFormat(
      "%s: %s, %d CPUs, %s, %s records%s%s\n",
      report.hosts.empty() ? base::EscapeName(report.path)
                           : absl::StrFormat("%d hosts", report.hosts.size()),
      scope, report.cpus,
      base::FormatNanoseconds(static_cast<double>(report.elapsed_ns())),
      base::FormatCount(report.records),
      report.finished ? "" : ", recording not finished",
      report.interrupted ? ", reading interrupted" : "");
  if (!report.hosts.empty()) out += HostsText(report);
  if (report.of_range) {
    out += absl::StrFormat("only from @%s to @%s\n",
                           base::FormatSeconds(report.begin_ns),
                           base::FormatSeconds(report.end_ns));
  }
  if (!report.command.empty()) {
    out += "command: " + base::EscapeName(report.command) + "\n";
  }
  if (!report.source.empty()) {
    out += "recorded by " + base::EscapeName(report.source) + "\n";
  }
  for (const logformat::TriggerFiring& trigger : report.triggers) {
    // On the clock: the tables of a snapshot can begin later than its
    // recording, so that a time since the beginning has two readings.
    out += absl::StrFormat(
        "trigger: %s: %s%s\n", base::EscapeName(trigger.trigger),
        base::EscapeName(trigger.what), logformat::AtText(trigger));
  }
  if (report.pauses != 0) {
    out += logformat::PausesText(report.pauses, report.left_out_ns) + "\n";
  }
  // A command's trace counts its own processes by default: print deviations
  // only.
  const bool gated = report.count != "all" && !report.count.empty() &&
                     (report.scope != "command" || report.count != "marked" ||
                      !report.marks.empty());
  if (gated) {
    out += "counted: " + report.count;
    for (std::size_t i = 0; i < report.marks.size(); ++i) {
      out += (i == 0 ? "; marked: " : ", ") + base::EscapeName(report.marks[i]);
    }
    out += "\n";
  }
  if (report.scope == "hooks") {
    out +=
        "no kernel records: on-CPU time and the kernel's counts are not "
        "known\n";
  }
  return out + CpuTimeText(report);
}

std::string LossText(const Report& report, bool color) {
  const Loss& loss = report.loss;
  std::string out = "\n";
  for (const std::string& what : report.not_known) {
    out += "not known: " + base::EscapeName(what) + "\n";
  }
  for (const std::string& message : loss.messages) {
    out += "note: " + base::EscapeName(message) + "\n";
  }
  out += LimitsLine(report);
  const logformat::LossStatement statement = logformat::StateLoss(loss);
  std::string line =
      absl::StrFormat("captured %s records; %s",
                      base::FormatCount(report.records), statement.text);
  if (color && !statement.complete) line = "\x1b[31m" + line + "\x1b[0m";
  out += line + "\n";
  return out;
}

}  // namespace countrace::rmap
