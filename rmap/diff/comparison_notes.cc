#include "rmap/diff/comparison_notes.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_format.h"

namespace countrace::rmap::diff {

namespace {

void NoteRuns(std::size_t before, std::size_t after,
              std::vector<std::string>& notes) {
  if (before == 1 && after == 1) {
    notes.push_back(
        "one run each: the noise between runs is not known, so the numbers are "
        "those of these two runs only. Several runs a side (--before ... "
        "--after ...) separate change from noise.");
  } else if (before == 1 || after == 1) {
    notes.push_back(absl::StrFormat(
        "one run %s: the noise of the other side's runs is taken for both.",
        before == 1 ? "before" : "after"));
  } else if (std::min(before, after) == 2) {
    notes.push_back(
        "two runs on a side: intervals are wide; five or more see smaller "
        "changes.");
  }
}

template <typename Get>
void NoteDifferent(const std::vector<const Report*>& all, const char* what,
                   const Get& get, std::vector<std::string>& notes) {
  std::set<std::string> values;
  for (const Report* report : all) values.insert(get(*report));
  if (values.size() < 2) return;
  std::string text = absl::StrFormat("recorded with different %s:", what);
  for (const std::string& value : values) text += " " + value;
  notes.push_back(text);
}

}  // namespace

std::vector<std::string> NotesOn(const std::vector<Report>& before,
                                 const std::vector<Report>& after,
                                 const ComparedMetrics& compared) {
  std::vector<std::string> notes;
  NoteRuns(before.size(), after.size(), notes);
  std::vector<const Report*> all;
  for (const Report& report : before) all.push_back(&report);
  for (const Report& report : after) all.push_back(&report);

  std::set<std::string> paths, twice;
  for (const Report* report : all) {
    if (!paths.insert(report->path).second) twice.insert(report->path);
  }
  for (const std::string& path : twice) {
    notes.push_back(path + " is given more than once: that is no second run.");
  }
  for (const Report* report : all) {
    const Loss& loss = report->loss;
    if (loss.discarded_events + loss.discarded_packets == 0) continue;
    notes.push_back(absl::StrFormat(
        "%s lost %d records%s: what they may have held is in the intervals.",
        report->path, loss.discarded_events,
        loss.discarded_packets != 0 ? " and whole packets" : ""));
  }
  NoteDifferent(
      all, "hosts", [](const Report& report) { return report.hostname; },
      notes);
  NoteDifferent(
      all, "kernels", [](const Report& r) { return r.kernel_release; }, notes);
  NoteDifferent(
      all, "numbers of CPUs",
      [](const Report& report) { return std::to_string(report.cpus); }, notes);
  NoteDifferent(
      all, "scopes", [](const Report& report) { return report.scope; }, notes);
  NoteDifferent(
      all, "choices of what counts",
      [](const Report& report) { return report.count; }, notes);
  const auto has_kernel = [](const Report* report) {
    return !report->cpu_rows.empty();
  };
  if (std::any_of(all.begin(), all.end(), has_kernel) &&
      !std::all_of(all.begin(), all.end(), has_kernel)) {
    notes.push_back(
        "on-CPU and off-CPU time are left out: some traces have no kernel "
        "records.");
  }
  for (const std::string& event : compared.left_out) {
    notes.push_back(event + " is left out: not all traces counted it.");
  }
  if (!compared.estimated.empty()) {
    std::string text =
        "multiplexed in some traces, so that amounts are "
        "estimates:";
    for (const std::string& event : compared.estimated) text += " " + event;
    notes.push_back(text +
                    ". Their rows add up to the total only about (residual).");
  }
  return notes;
}

}  // namespace countrace::rmap::diff
