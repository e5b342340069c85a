#include "rmap/metrics/rule_tree.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/text/name_escape.h"
#include "base/text/nearest_name.h"

namespace countrace::rmap::metrics {
namespace {

// The metric that a key of `rule` names.
absl::StatusOr<std::size_t> Named(const RuleSet& rules, const Rule& rule,
                                  const char* key, const std::string& name) {
  const auto found = rules.Find(name);
  if (found) return *found;
  std::vector<std::string> known;
  for (const Rule& other : rules.rules()) known.push_back(other.text.name);
  const std::string near(base::NearestName(name, known));
  return base::ErrorAt(
      rule.text.parent_place,
      absl::StrFormat(
          "%s of `%s`: there is no metric `%s`%s", key, rule.text.name,
          base::EscapeName(name),
          near.empty() ? "" : absl::StrFormat("; did you mean `%s`?", near)));
}

absl::Status CheckCount(const Rule& rule) {
  if (rule.dimensions == Dimensions{.count = 1}) return absl::OkStatus();
  return base::ErrorAt(
      rule.text.parent_place,
      absl::StrFormat("`%s` is %s; what a tree has is a count", rule.text.name,
                      DimensionsName(rule.dimensions)));
}

void Append(const RuleSet& rules, std::size_t rule, std::size_t parent,
            std::uint32_t depth, std::vector<RuleTree::Node>& nodes) {
  const std::size_t at = nodes.size();
  nodes.push_back({rule, parent, depth});
  const auto text = [&](std::size_t i) -> const RuleText& {
    return rules.rules()[i].text;
  };
  std::vector<std::size_t> parts;
  for (std::size_t i = 0; i < rules.rules().size(); ++i) {
    if (text(i).parent == text(rule).name) parts.push_back(i);
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [&](std::size_t a, std::size_t b) {
                     return text(a).code < text(b).code;
                   });
  for (const std::size_t part : parts) {
    Append(rules, part, at, depth + 1, nodes);
  }
}

absl::Status CheckTrees(const RuleSet& rules) {
  for (const Rule& rule : rules.rules()) {
    if (rule.text.parent.empty() && rule.text.tree.empty()) continue;
    if (!rule.text.parent.empty() && !rule.text.tree.empty()) {
      return base::ErrorAt(
          rule.text.parent_place,
          absl::StrFormat("`%s` has a parent, so it is no root: leave out "
                          "`tree`",
                          rule.text.name));
    }
    if (absl::Status count = CheckCount(rule); !count.ok()) return count;
    std::vector<std::string> chain = {rule.text.name};
    const Rule* at = &rule;
    while (!at->text.parent.empty()) {
      const auto parent = Named(rules, *at, "parent", at->text.parent);
      if (!parent.ok()) return parent.status();
      at = &rules.rules()[*parent];
      const bool circle =
          std::find(chain.begin(), chain.end(), at->text.name) != chain.end();
      chain.push_back(at->text.name);
      if (circle || chain.size() > kMaxRuleDepth) {
        return base::ErrorAt(
            rule.text.parent_place,
            absl::StrFormat(
                "%s: %s",
                circle ? "a circle of parents"
                       : absl::StrFormat("more than %d parents", kMaxRuleDepth),
                absl::StrJoin(chain, " -> ")));
      }
    }
    if (at->text.tree.empty()) {
      return base::ErrorAt(
          rule.text.parent_place,
          absl::StrFormat("the root of `%s` is `%s`, which names no tree: give "
                          "it tree = \"NAME\" and per = \"METRIC\"",
                          rule.text.name, at->text.name));
    }
    const auto per = Named(rules, *at, "per", at->text.per);
    if (!per.ok()) return per.status();
    if (absl::Status count = CheckCount(rules.rules()[*per]); !count.ok()) {
      return count;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RuleTree> FindTree(const RuleSet& rules, std::string_view name) {
  if (absl::Status sound = CheckTrees(rules); !sound.ok()) return sound;
  std::vector<std::string> known;
  // A user's tree comes behind a shipped one of the same name, and is meant.
  for (std::size_t i = rules.rules().size(); i-- > 0;) {
    const RuleText& text = rules.rules()[i].text;
    if (text.tree.empty()) continue;
    known.push_back(text.tree);
    if (text.tree != name) continue;
    RuleTree tree;
    tree.per = *rules.Find(text.per);
    Append(rules, i, 0, 0, tree.nodes);
    return tree;
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "there is no tree `%s`%s; shipped are cpi, topdown and topdown-arm64",
      base::EscapeName(std::string(name)),
      known.empty() ? "" : ", only " + absl::StrJoin(known, ", ")));
}

}  // namespace countrace::rmap::metrics
