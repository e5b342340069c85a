// Converts rows selected by `--where` to options of over time.
#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "rmap/over_time/over_time.h"
#include "rmap/report/report_render.h"

namespace countrace::rmap {
namespace {

// Threads of selected processes; with `of_threads`, selected threads.
std::unordered_set<std::uint32_t> SelectedThreads(const Report& report,
                                                  const RowSelection& selection,
                                                  bool of_threads) {
  std::set<ProcessIndex> processes;
  if (!of_threads) {
    for (const ProcessRow& row :
         SelectedRows(report.processes, &selection, ReportBy::kProcess)) {
      processes.insert(row.index);
    }
  }
  const std::vector<bool>& chosen = selection.Of(ReportBy::kThread).rows;
  std::unordered_set<std::uint32_t> threads;
  for (std::size_t i = 0; i < report.threads.size(); ++i) {
    const ThreadRow& row = report.threads[i];
    if (of_threads ? chosen[i] : processes.contains(row.process)) {
      threads.insert(static_cast<std::uint32_t>(row.index));
    }
  }
  return threads;
}

}  // namespace

absl::Status AddSelected(const Report& report, const logformat::TraceInfo& info,
                         const RowSelection& selection,
                         OverTimeOptions& options) {
  const bool processes = selection.Of(ReportBy::kProcess).applies();
  if (processes || selection.Of(ReportBy::kThread).applies()) {
    options.threads = SelectedThreads(report, selection, !processes);
    return options.threads->empty()
               ? absl::NotFoundError(absl::StrFormat(
                     "%s selects no process or thread: `countrace report --by "
                     "process` names them",
                     base::EscapeName(selection.expression)))
               : absl::OkStatus();
  }
  if (!selection.Of(ReportBy::kSegment).applies()) {
    return absl::InvalidArgumentError(
        "--where with --by time or phase takes fields of processes, of threads "
        "or of segments");
  }
  std::multimap<std::string, std::uint32_t> hooks;
  for (const logformat::HookInfo& hook : info.hooks) {
    if (hook.kind == logformat::HookKind::kSegment &&
        hook.origin != logformat::HookOrigin::kInterrupt) {
      hooks.emplace(hook.FullName(), hook.id);
    }
  }
  std::multimap<ProcessIndex, std::uint32_t> threads;
  for (const ThreadRow& row : report.threads) {
    threads.emplace(row.process, static_cast<std::uint32_t>(row.index));
  }
  const auto among = std::exchange(options.hooks, std::nullopt);
  options.hooks.emplace();
  options.calls.emplace();
  for (const SegmentRow& row :
       SelectedRows(report.segments, &selection, ReportBy::kSegment)) {
    const auto [hook, hook_end] = hooks.equal_range(row.segment);
    const auto [thread, thread_end] = threads.equal_range(row.process);
    for (auto h = hook; h != hook_end; ++h) {
      if (among && !among->contains(h->second)) continue;
      options.hooks->insert(h->second);
      for (auto t = thread; t != thread_end; ++t) {
        options.calls->insert(CallKey(t->second, h->second));
      }
    }
  }
  return options.calls->empty()
             ? absl::NotFoundError("--where selects no segment of a process")
             : absl::OkStatus();
}

}  // namespace countrace::rmap
