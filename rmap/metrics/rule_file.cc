#include "rmap/metrics/rule_file.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/posix/errno_status.h"
#include "base/posix/regular_file.h"
#include "base/text/name_escape.h"
#include "base/text/nearest_name.h"
#include "base/text/source_place.h"
#include "base/toml/toml_limits.h"
#include "base/toml/untrusted_toml.h"

namespace countrace::rmap::metrics {
namespace {

constexpr const char* kKeys[] = {"expr",   "unit", "scope", "description",
                                 "parent", "code", "tree",  "per"};

base::SourcePlace PlaceOf(const std::string& file,
                          const toml::source_region& at) {
  return {file, std::max<std::size_t>(1, at.begin.line),
          std::max<std::size_t>(1, at.begin.column)};
}

class RuleFile {
 public:
  RuleFile(std::string_view text, const std::string& file, RuleSet& rules)
      : text_(text), file_(file), rules_(rules) {}

  absl::Status Read() {
    absl::Status limits =
        base::CheckTomlLimits(text_, file_, {.bytes = kMaxRuleFileBytes});
    if (!limits.ok()) return limits;
    const toml::parse_result result = toml::parse(text_, file_);
    if (!result) {
      const toml::parse_error& error = result.error();
      return base::ErrorAt(PlaceOf(file_, error.source()),
                           base::EscapeName(error.description()));
    }
    std::vector<std::pair<toml::key, const toml::table*>> metrics;
    for (const auto& [key, node] : result.table()) {
      if (key.str() != "metric" || !node.is_table()) {
        return base::ErrorAt(
            PlaceOf(file_, key.source()),
            absl::StrFormat("`%s` is not known here; rules are "
                            "tables [metric.NAME]",
                            base::EscapeName(key.str())));
      }
      for (const auto& [name, rule] : *node.as_table()) {
        if (!rule.is_table()) {
          return base::ErrorAt(
              PlaceOf(file_, name.source()),
              absl::StrFormat("`%s` is no table; rules are tables "
                              "[metric.NAME]",
                              base::EscapeName(name.str())));
        }
        metrics.emplace_back(name, rule.as_table());
      }
    }
    // toml++ sorts by name; reports keep the order of the file.
    std::stable_sort(
        metrics.begin(), metrics.end(), [](const auto& a, const auto& b) {
          const auto &x = a.first.source().begin, &y = b.first.source().begin;
          return std::pair(x.line, x.column) < std::pair(y.line, y.column);
        });
    for (const auto& [name, table] : metrics) {
      if (absl::Status status = AddRule(name, *table); !status.ok()) {
        return status;
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status AddRule(const toml::key& name, const toml::table& table) {
    RuleText rule;
    rule.name = std::string(name.str());
    rule.name_place = PlaceOf(file_, name.source());
    rule.formula_place = rule.unit_place = rule.name_place;
    rule.parent_place = rule.name_place;
    rule.source = file_;
    for (const auto& [key, value] : table) {
      const std::string_view word = key.str();
      absl::Status status;
      if (word == "scope") {
        status = ReadScope(value, rule);
      } else if (std::ranges::find(kKeys, word) != std::end(kKeys)) {
        status = ReadText(word, value, rule);
      } else {
        status = UnknownKey(key);
      }
      if (!status.ok()) return status;
    }
    if (!table.contains("expr")) {
      return base::ErrorAt(rule.name_place,
                           absl::StrFormat("metric `%s` has no expr",
                                           base::EscapeName(rule.name)));
    }
    return rules_.Add(std::move(rule));
  }

  absl::Status UnknownKey(const toml::key& key) const {
    const std::vector<std::string> known(std::begin(kKeys), std::end(kKeys));
    const std::string_view nearest = base::NearestName(key.str(), known);
    return base::ErrorAt(
        PlaceOf(file_, key.source()),
        absl::StrFormat("unknown key `%s`; %s", base::EscapeName(key.str()),
                        nearest.empty()
                            ? "known are " + absl::StrJoin(known, ", ")
                            : absl::StrFormat("did you mean `%s`?", nearest)));
  }

  absl::Status ReadText(std::string_view word, const toml::node& value,
                        RuleText& rule) const {
    const auto* text = value.as_string();
    if (text == nullptr) {
      return base::ErrorAt(
          PlaceOf(file_, value.source()),
          absl::StrFormat("%s is no string; write it in quotes", word));
    }
    const base::SourcePlace place = PlaceOf(file_, value.source());
    if (word == "expr") {
      rule.formula = text->get();
      rule.formula_place = PlaceInside(place, rule.formula);
    } else if (word == "unit") {
      rule.unit = text->get();
      rule.unit_place = PlaceInside(place, *rule.unit);
    } else if (word == "description") {
      rule.description = text->get();
    } else {
      (word == "parent" ? rule.parent
       : word == "code" ? rule.code
       : word == "tree" ? rule.tree
                        : rule.per) = text->get();
      if (word == "parent" || word == "per") {
        rule.parent_place = PlaceInside(place, text->get());
      }
    }
    return absl::OkStatus();
  }

  // The place of the first character of a string's value, if the file contains
  // it literally; else the place where the string begins.
  base::SourcePlace PlaceInside(const base::SourcePlace& place,
                                std::string_view value) const {
    std::string_view rest = text_;
    for (std::size_t line = 1; line < place.line; ++line) {
      const std::size_t end = rest.find('\n');
      if (end == rest.npos) return place;
      rest.remove_prefix(end + 1);
    }
    rest.remove_prefix(std::min(rest.size(), place.column - 1));
    base::SourcePlace inside = place;
    for (const std::string_view quote : {"\"\"\"", "'''", "\"", "'"}) {
      if (rest.substr(0, quote.size()) != quote) continue;
      rest.remove_prefix(quote.size());
      inside.column += quote.size();
      if (quote.size() == 3 && rest.substr(0, 1) == "\n") {
        rest.remove_prefix(1);
        ++inside.line;
        inside.column = 1;
      }
      return rest.substr(0, value.size()) == value ? inside : place;
    }
    return place;
  }

  absl::Status ReadScope(const toml::node& value, RuleText& rule) const {
    ScopeSet scopes = 0;
    const auto add = [&](const toml::node& node) {
      const auto* text = node.as_string();
      const auto scope = text == nullptr ? std::nullopt : ScopeOf(text->get());
      if (scope) scopes |= Only(*scope);
      return scope.has_value();
    };
    const toml::node* wrong = nullptr;
    if (const auto* list = value.as_array()) {
      for (const toml::node& node : *list) {
        if (!add(node)) wrong = &node;
      }
    } else if (!add(value)) {
      wrong = &value;
    }
    if (wrong != nullptr || scopes == 0) {
      return base::ErrorAt(
          PlaceOf(file_, (wrong != nullptr ? *wrong : value).source()),
          absl::StrFormat("a scope is one or more of \"%s\"",
                          ScopeNames(kEveryScope)));
    }
    rule.scopes = scopes;
    return absl::OkStatus();
  }

  const std::string_view text_;
  const std::string& file_;
  RuleSet& rules_;
};

}  // namespace

absl::Status AddRules(std::string_view text, const std::string& file,
                      RuleSet& rules) {
  return RuleFile(text, file, rules).Read();
}

absl::Status AddRuleFile(const std::string& path, RuleSet& rules) {
  const auto text = base::ReadRegularFile(path, kMaxRuleFileBytes);
  if (!text.ok()) {
    return absl::NotFoundError(
        absl::StrFormat("cannot open the rules %s: %s", base::EscapeName(path),
                        base::StatusText(text.status())));
  }
  return AddRules(*text, path, rules);
}

absl::Status AddDefaultRules(RuleSet& rules) {
  return AddRules(kDefaultMetrics, kDefaultSource, rules);
}

absl::Status AddCommandLineRule(std::string_view text, RuleSet& rules) {
  const base::SourcePlace place{"--metric"};
  const std::size_t equals = text.find('=');
  if (equals == text.npos) {
    return base::ErrorAt(place, text, 0,
                         "a metric is written NAME = EXPRESSION");
  }
  const auto trimmed = [&](std::size_t begin, std::size_t end) {
    while (begin < end && text[begin] == ' ') ++begin;
    while (end > begin && text[end - 1] == ' ') --end;
    return std::pair(begin, end);
  };
  const auto [name_begin, name_end] = trimmed(0, equals);
  const auto [begin, end] = trimmed(equals + 1, text.size());
  RuleText rule;
  rule.name = std::string(text.substr(name_begin, name_end - name_begin));
  rule.name_place = {place.file, 1, name_begin + 1};
  rule.formula = std::string(text.substr(begin, end - begin));
  rule.formula_place = {place.file, 1, begin + 1};
  rule.unit_place = rule.formula_place;
  rule.source = place.file;
  return rules.Add(std::move(rule));
}

}  // namespace countrace::rmap::metrics
