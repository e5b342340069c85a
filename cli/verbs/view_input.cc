#include "cli/verbs/view_input.h"

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/program/exit_status.h"
#include "cli/program/instant.h"
#include "rmap/metrics/tree_over_time.h"
#include "rmap/requests/join_rule.h"
#include "rmap/tables/input/report_events.h"

namespace countrace::cli {
namespace {

absl::Status CheckJoin(const rmap::JoinRule& rule,
                       const logformat::TraceInfo& info) {
  const auto bound = rmap::JoinValues::Bind(rule, info);
  if (bound.ok()) return absl::OkStatus();
  return AsUsage(absl::InvalidArgumentError(
      absl::StrCat("--join: ", bound.status().message())));
}

// Gives each host the lines of `rule` that its trace has. Errors: none has one.
absl::Status Join(const rmap::JoinRule& rule, const HostTraces& open,
                  std::vector<viewer::ServedHost>& hosts) {
  std::vector<rmap::JoinRule> parts;
  for (const auto& line : rule.lines) parts.push_back({rule.text, {line}});
  if (parts.empty()) parts.push_back(rule);
  for (const rmap::JoinRule& part : parts) {
    absl::Status missing;
    std::size_t found = 0;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      const absl::Status has = CheckJoin(part, open.readers[i]->info());
      missing.Update(has);
      if (!has.ok()) continue;
      ++found;
      auto& join = hosts[i].options.join;
      if (!join) join = rmap::JoinRule{rule.text, {}};
      join->lines.insert(join->lines.end(), part.lines.begin(),
                         part.lines.end());
    }
    if (found == 0) return missing;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckFit(const viewer::ServeOptions& serve,
                      const logformat::TraceInfo& info) {
  std::vector<std::string> events;
  for (const auto& event : rmap::PlanEvents(info)) events.push_back(event.name);
  const auto trees = rmap::metrics::TreesOf(serve.rule_files, events);
  if (!trees.ok()) return AsUsage(trees.status());
  return serve.join ? CheckJoin(*serve.join, info) : absl::OkStatus();
}

absl::StatusOr<viewer::ServedHosts> HostsToView(
    const std::vector<GivenHost>& hosts, const TraceOptions& options,
    const viewer::ServeOptions& all, TraceInput& input) {
  viewer::ServedHosts served;
  if (!options.pairs.empty()) served.messages.emplace();
  const auto open = OpenHosts(hosts, options.pairs, input,
                              served.messages ? &*served.messages : nullptr);
  if (!open.ok()) return open.status();
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const auto directory = input.Directory(hosts[i].path);
    if (!directory.ok()) return directory.status();
    const TraceExtent extent = ExtentOf(*open->readers[i]);
    viewer::ServeOptions serve = all;
    serve.trace_path = *directory;
    serve.shown_as = hosts[i].path;
    serve.join.reset();
    const absl::Status fit = CheckFit(serve, open->readers[i]->info());
    if (!fit.ok()) return fit;
    served.hosts.push_back({serve, hosts[i].name, open->clocks[i],
                            extent.begin_ns, extent.end_ns()});
  }
  const absl::Status joined =
      all.join ? Join(*all.join, *open, served.hosts) : absl::OkStatus();
  if (!joined.ok()) return joined;
  return served;
}

}  // namespace countrace::cli
