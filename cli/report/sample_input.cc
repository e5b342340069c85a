#include "cli/report/sample_input.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/glob.h"
#include "base/text/name_escape.h"
#include "cli/program/progress_bar.h"
#include "rmap/result/samples.h"

namespace countrace::cli {
namespace {

// Rows of the report by the index that contexts have.
struct Owners {
  explicit Owners(const rmap::Report& report) {
    for (const rmap::ProcessRow& row : report.processes) {
      processes[row.index] = &row;
    }
    for (const rmap::ThreadRow& row : report.threads) threads[row.index] = &row;
  }

  std::map<rmap::ProcessIndex, const rmap::ProcessRow*> processes;
  std::map<rmap::ThreadIndex, const rmap::ThreadRow*> threads;
};

std::uint64_t Number(std::int32_t id) {
  return static_cast<std::uint64_t>(id < 0 ? 0 : id);
}

rmap::SampleGroup GroupOf(const rmap::SampleContext& context,
                          const std::string& by, const Owners& owners) {
  if (by == "thread") {
    const auto found = owners.threads.find(context.thread);
    if (found == owners.threads.end()) return {};
    const rmap::ThreadRow& row = *found->second;
    return {row.comm, Number(row.pid), Number(row.tid)};
  }
  const auto found = owners.processes.find(context.process);
  if (found == owners.processes.end()) return {};
  const rmap::ProcessRow& row = *found->second;
  if (by == "process") return {row.comm, Number(row.pid), {}};
  return {by == "comm"   ? row.comm
          : by == "user" ? row.user
                         : row.cgroup,
          {},
          {}};
}

// Which contexts are of processes, and of threads, whose name or number
// matches. Empty: all, as neither glob is given.
std::vector<bool> ChosenContexts(const rmap::Report& report,
                                 const std::string& process,
                                 const std::string& thread) {
  if (process.empty() && thread.empty()) return {};
  const auto matches = [](const std::string& glob, const std::string& comm,
                          std::int32_t id) {
    return glob.empty() || base::GlobMatches(glob.c_str(), comm.c_str()) ||
           glob == std::to_string(id);
  };
  const Owners owners(report);
  std::vector<bool> chosen;
  for (const rmap::SampleContext& context : report.samples->contexts) {
    const auto of = owners.processes.find(context.process);
    const auto in = owners.threads.find(context.thread);
    chosen.push_back((process.empty() ||
                      (of != owners.processes.end() &&
                       matches(process, of->second->comm, of->second->pid))) &&
                     (thread.empty() ||
                      (in != owners.threads.end() &&
                       matches(thread, in->second->comm, in->second->tid))));
  }
  return chosen;
}

}  // namespace

absl::StatusOr<SampleInput> ReadSamples(const ReportRequest& request,
                                        rmap::DataDetail data,
                                        const TraceCheck& check) {
  auto reader = request.input->Open(request.trace);
  if (!reader.ok()) return reader.status();
  if (check) {
    const absl::Status fits = check((*reader)->info());
    if (!fits.ok()) return fits;
  }
  rmap::TableRange tables_of;
  if (request.range.given()) {
    const auto range = ParseRange(request.range, ExtentOf(**reader));
    if (!range.ok()) {
      return AsUsage(absl::InvalidArgumentError(range.status().message()));
    }
    tables_of = {range->from_ns, range->to_ns};
  }
  ProgressBar progress("reading " + request.trace,
                       request.input->show_progress());
  auto report = rmap::Reconstruct(**reader, {.gating = request.gating,
                                             .rows = {.samples = true},
                                             .range = tables_of,
                                             .progress = progress.Callback(),
                                             .keep_interrupted = true,
                                             .data = data});
  progress.Clear();
  if (!report.ok()) return report.status();
  if (report->samples->events.empty()) {
    return absl::FailedPreconditionError(
        "the trace has no samples: `countrace record --sample 199` takes them");
  }
  SampleInput out{std::move(*reader), *std::move(report), {}};
  out.chosen = ChosenContexts(out.report, request.process, request.thread);
  if (out.chosen.empty() || std::find(out.chosen.begin(), out.chosen.end(),
                                      true) != out.chosen.end()) {
    return out;
  }
  if (request.thread.empty()) {
    return absl::NotFoundError(
        absl::StrFormat("no samples of a process %s: `countrace report --by "
                        "process` names them",
                        base::EscapeName(request.process)));
  }
  return absl::NotFoundError(absl::StrFormat(
      "no samples of a thread %s%s%s: `countrace report --by thread` names "
      "them",
      base::EscapeName(request.thread),
      request.process.empty() ? "" : " of a process ",
      base::EscapeName(request.process)));
}

std::vector<std::uint32_t> GroupSamples(
    const rmap::Report& report, const std::string& by,
    std::vector<rmap::SampleGroup>& groups) {
  std::vector<std::uint32_t> of_context;
  if (by.empty()) return of_context;
  const Owners owners(report);
  // By the names, and for threads and processes by the index: their numbers are
  // reused.
  using Name = decltype(rmap::SampleGroup::name);
  std::map<std::pair<std::uint32_t, Name>, std::uint32_t> known;
  for (const rmap::SampleContext& context : report.samples->contexts) {
    rmap::SampleGroup group = GroupOf(context, by, owners);
    const auto index =
        by == "thread"    ? static_cast<std::uint32_t>(context.thread)
        : by == "process" ? static_cast<std::uint32_t>(context.process)
                          : 0;
    const auto [found, added] = known.try_emplace(
        {index, group.name}, static_cast<std::uint32_t>(groups.size()));
    if (added) groups.push_back(std::move(group));
    of_context.push_back(found->second);
  }
  return of_context;
}

}  // namespace countrace::cli
