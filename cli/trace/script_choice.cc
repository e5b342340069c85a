#include "cli/trace/script_choice.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "base/text/glob.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_parse.h"
#include "cli/program/instant.h"
#include "rmap/pipeline.h"

namespace countrace::cli {
namespace {

using logformat::TaskChoice;

bool IsChosen(const std::string& who, std::int32_t id,
              const std::string& name) {
  if (const auto number = base::ParseInteger(who)) {
    return static_cast<std::int64_t>(*number) == id;
  }
  return base::GlobMatches(who.c_str(), name.c_str());
}

absl::Status NobodyIs(const char* option, const char* rows,
                      const std::string& who) {
  return absl::NotFoundError(absl::StrFormat(
      "nothing in the trace matches %s %s: `countrace report --by %s` names "
      "what there is",
      option, base::EscapeName(who), rows));
}

// Threads of processes too: most records of a CPU name a tid only.
absl::StatusOr<TaskChoice> Processes(const std::vector<std::string>& wanted,
                                     const rmap::Report& report) {
  TaskChoice choice;
  for (const std::string& who : wanted) {
    bool found = false;
    for (const rmap::ProcessRow& row : report.processes) {
      if (!IsChosen(who, row.pid, row.comm)) continue;
      choice.pids.insert(row.pid);
      found = true;
    }
    if (!found) return NobodyIs("--process", "process", who);
  }
  for (const rmap::ThreadRow& row : report.threads) {
    if (choice.pids.contains(row.pid)) choice.tids.insert(row.tid);
  }
  return choice;
}

absl::StatusOr<TaskChoice> Threads(const std::vector<std::string>& wanted,
                                   const rmap::Report& report) {
  TaskChoice choice;
  for (const std::string& who : wanted) {
    bool found = false;
    for (const rmap::ThreadRow& row : report.threads) {
      if (!IsChosen(who, row.tid, row.comm)) continue;
      choice.tids.insert(row.tid);
      found = true;
    }
    if (!found) return NobodyIs("--thread", "thread", who);
  }
  return choice;
}

}  // namespace

absl::StatusOr<logformat::RecordChoice> ChooseRecords(
    const ScriptOptions& options, logformat::TraceReader& reader,
    const logformat::ProgressCallback& progress) {
  logformat::RecordChoice choice;
  const auto range = ParseRange(options.range, ExtentOf(reader));
  if (!range.ok()) return range.status();
  choice.from_ns = range->from_ns;
  choice.to_ns = range->to_ns;
  if (!options.hooks.empty()) choice.hooks = options.hooks;
  if (options.processes.empty() && options.threads.empty()) return choice;

  const auto report = rmap::Reconstruct(reader, {.progress = progress});
  if (!report.ok()) return report.status();
  if (!options.processes.empty()) {
    auto tasks = Processes(options.processes, *report);
    if (!tasks.ok()) return tasks.status();
    choice.tasks.push_back(*std::move(tasks));
  }
  if (!options.threads.empty()) {
    auto tasks = Threads(options.threads, *report);
    if (!tasks.ok()) return tasks.status();
    choice.tasks.push_back(*std::move(tasks));
  }
  return choice;
}

}  // namespace countrace::cli
