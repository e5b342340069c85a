#include "cli/report/sample_groups.h"

#include <map>
#include <utility>

#include "base/text/glob.h"
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

Cell Number(std::int32_t id) {
  return static_cast<std::uint64_t>(id < 0 ? 0 : id);
}

std::vector<std::string> ColumnsOf(const std::string& by) {
  if (by == "thread") return {"comm", "pid", "tid"};
  if (by == "process") return {"comm", "pid"};
  return {by};
}

// Cells without a value: the trace does not say.
std::vector<Cell> NameOf(const rmap::SampleContext& context,
                         const std::string& by, const Owners& owners) {
  const std::vector<Cell> none(ColumnsOf(by).size(), std::monostate());
  if (by == "thread") {
    const auto found = owners.threads.find(context.thread);
    if (found == owners.threads.end()) return none;
    const rmap::ThreadRow& row = *found->second;
    return {row.comm, Number(row.pid), Number(row.tid)};
  }
  const auto found = owners.processes.find(context.process);
  if (found == owners.processes.end()) return none;
  const rmap::ProcessRow& row = *found->second;
  if (by == "process") return {row.comm, Number(row.pid)};
  return {by == "comm" ? row.comm : by == "user" ? row.user : row.cgroup};
}

}  // namespace

SampleGroups GroupSamples(const rmap::Report& report, const std::string& by) {
  SampleGroups groups;
  if (by.empty()) return groups;
  groups.columns = ColumnsOf(by);
  const Owners owners(report);
  // By the names, and for threads and processes by the index: their numbers are
  // reused.
  std::map<std::pair<std::uint32_t, std::vector<Cell>>, std::uint32_t> known;
  for (const rmap::SampleContext& context : report.samples->contexts) {
    std::vector<Cell> name = NameOf(context, by, owners);
    const auto index =
        by == "thread"    ? static_cast<std::uint32_t>(context.thread)
        : by == "process" ? static_cast<std::uint32_t>(context.process)
                          : 0;
    const auto [group, added] = known.try_emplace(
        {index, name}, static_cast<std::uint32_t>(groups.names.size()));
    if (added) groups.names.push_back(std::move(name));
    groups.of_context.push_back(group->second);
  }
  return groups;
}

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

}  // namespace countrace::cli
