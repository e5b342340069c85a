#include "rmap/metrics/tree_over_time.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/text/quantity_format.h"
#include "rmap/metrics/event_names.h"
#include "rmap/metrics/rule_file.h"
#include "rmap/metrics/rule_tree.h"

namespace countrace::rmap::metrics {

const std::vector<std::string>& ShippedTrees() {
  static const auto& names =
      *new std::vector<std::string>{"cpi", "topdown", "topdown-arm64"};
  return names;
}

absl::Status AddTreeRules(const std::string& name,
                          const std::vector<std::string>& files,
                          RuleSet& rules) {
  absl::Status status = AddDefaultRules(rules);
  const std::string_view shipped = ShippedTree(name);
  if (status.ok() && !shipped.empty()) {
    status = AddRules(shipped, "tree " + name, rules);
  }
  for (const std::string& file : files) {
    if (!status.ok()) return status;
    status = AddRuleFile(file, rules);
  }
  return status;
}

absl::StatusOr<std::vector<KnownTree>> TreesOf(
    const std::vector<std::string>& files,
    const std::vector<std::string>& events) {
  std::vector<std::string> names = ShippedTrees();
  RuleSet own;
  if (absl::Status read = AddTreeRules("", files, own); !read.ok()) return read;
  for (const Rule& rule : own.rules()) {
    const std::string& tree = rule.text.tree;
    if (!tree.empty() &&
        std::find(names.begin(), names.end(), tree) == names.end()) {
      names.push_back(tree);
    }
  }
  std::set<std::string> counted;
  for (const std::string& event : events) counted.insert(CanonicalEvent(event));
  std::vector<KnownTree> known;
  for (std::string& name : names) {
    KnownTree tree{std::move(name), {}};
    absl::Status status = AddTreeRules(tree.name, files, tree.rules);
    if (status.ok()) status = tree.rules.Check(events);
    if (!status.ok()) return status;
    const auto found = FindTree(tree.rules, tree.name);
    if (!found.ok()) return found.status();
    const auto fits = [&](std::size_t rule) {
      const std::vector<std::string>& needs = tree.rules.rules()[rule].needs;
      return std::all_of(needs.begin(), needs.end(), [&](const auto& need) {
        return counted.contains(CanonicalEvent(need));
      });
    };
    if (fits(found->nodes[0].rule) && fits(found->per)) {
      known.push_back(std::move(tree));
    }
  }
  return known;
}

absl::StatusOr<std::vector<TreeInterval>> TreesOverTime(
    const TreeIntervals& in, std::vector<TreeRequest> trees,
    const std::function<absl::StatusOr<Report>(std::uint64_t from_ns,
                                               std::uint64_t until_ns)>& read) {
  const std::uint64_t length_ns = in.end_ns - in.begin_ns;
  const std::uint64_t last = length_ns == 0 ? 0 : (length_ns - 1) / in.every_ns;
  std::vector<TreeInterval> intervals;
  for (std::uint64_t i = 0; i <= last; ++i) {
    const std::uint64_t from_ns = in.begin_ns + i * in.every_ns;
    const auto report =
        read(from_ns, i == last ? in.until_ns : from_ns + in.every_ns);
    if (!report.ok()) return report.status();
    TreeInterval interval{
        from_ns, std::min(from_ns + in.every_ns, in.end_ns), {}};
    for (TreeRequest& tree : trees) {
      tree.runs = {{"", &*report}};
      tree.owner = base::FormatInstant(from_ns - in.begin_ns);
      auto table = MakeTreeTable(tree);
      if (!table.ok()) return table.status();
      interval.tables.push_back(*std::move(table));
    }
    intervals.push_back(std::move(interval));
  }
  return intervals;
}

}  // namespace countrace::rmap::metrics
