#include "rmap/requests/join_rule.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/posix/regular_file.h"
#include "base/text/glob.h"
#include "base/text/name_escape.h"
#include "base/text/nearest_name.h"
#include "base/text/source_place.h"
#include "logformat/packet_layout.h"

namespace countrace::rmap {
namespace {

using logformat::HookInfo;
using logformat::TraceInfo;

constexpr std::uint64_t kMaxJoinFileBytes = 64 * 1024;
constexpr std::size_t kMostLines = 1000;  // each is matched with all hooks
constexpr std::size_t kMostNamed = 40;    // in a message

bool IsValueName(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
  });
}

// A value without a name of its own: in another hook it is something else.
bool IsPlace(std::string_view name) {
  return name.size() == 4 && name.starts_with("arg") &&
         absl::ascii_isdigit(static_cast<unsigned char>(name[3]));
}

std::string Listed(std::vector<std::string> names) {
  const bool many = names.size() > kMostNamed;
  if (many) names.resize(kMostNamed);
  for (std::string& name : names) name = base::EscapeName(name);
  return absl::StrJoin(names, ", ") + (many ? ", ..." : "");
}

// "; did you mean `x`?", or nothing.
std::string DidYouMean(std::string_view word,
                       const std::vector<std::string>& names) {
  const std::string near(base::NearestName(word, names));
  return near.empty() ? "" : "; did you mean `" + base::EscapeName(near) + "`?";
}

std::vector<std::string> ValueNames(const TraceInfo& info) {
  std::vector<std::string> names;
  for (const auto& [name, of] : logformat::ValueNames(info, /*exits=*/false)) {
    names.push_back(name);
  }
  return names;
}

absl::Status NoSuchValue(const std::string& name, const TraceInfo& info) {
  const std::vector<std::string> names = ValueNames(info);
  return absl::InvalidArgumentError(absl::StrFormat(
      "no hook of the trace has a value `%s` at its enter%s%s; a file needs a "
      "`/` or `.` in its name",
      base::EscapeName(name), DidYouMean(name, names),
      names.empty() ? "; none has any" : "; there are " + Listed(names)));
}

}  // namespace

absl::StatusOr<JoinRule> ParseJoinLines(std::string_view text,
                                        const std::string& file) {
  JoinRule rule{file, {}};
  std::istringstream lines{std::string(text)};
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string hooks, value, more;
    if (!(words >> hooks)) continue;
    if (!(words >> value) || words >> more || !IsValueName(value)) {
      return base::ErrorAt(
          {file, number},
          absl::StrFormat("expected hooks and the name of their value, as "
                          "`server:* arg0`, found `%s`",
                          base::EscapeName(line)));
    }
    rule.lines.push_back({std::move(hooks), std::move(value), number});
  }
  if (rule.lines.empty()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s names no hooks; write lines as `server:* arg0`",
                        base::EscapeName(file)));
  }
  if (rule.lines.size() > kMostLines) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s names hooks in %d lines, at most %d are read; write globs, as "
        "`server:* arg0`",
        base::EscapeName(file), rule.lines.size(), kMostLines));
  }
  return rule;
}

absl::StatusOr<JoinRule> ReadJoinRule(const std::string& text) {
  if (IsValueName(text)) return JoinRule{text, {}};
  const auto lines = base::ReadNamedFile(text, kMaxJoinFileBytes);
  if (!lines.ok()) return lines.status();
  return ParseJoinLines(*lines, text);
}

void JoinValues::Add(std::uint32_t hook_id, std::size_t value) {
  hooks_.emplace(hook_id, value);  // the first line counts
  (hook_id >= logformat::kHookIdKernelMin ? of_kernel_ : of_programs_) = true;
}

absl::StatusOr<JoinValues> JoinValues::Bind(const JoinRule& rule,
                                            const TraceInfo& info) {
  JoinValues bound;
  if (rule.lines.empty()) {
    bound.values_.emplace_back(info, std::vector<std::string>{rule.text});
    for (const HookInfo& hook : info.hooks) {
      const bool counts =
          hook.kind == logformat::HookKind::kSegment || !IsPlace(rule.text);
      if (counts && bound.values_[0].IsOf(hook.id)) bound.Add(hook.id, 0);
    }
    if (bound.hooks_.empty()) return NoSuchValue(rule.text, info);
    return bound;
  }
  std::vector<std::string> all;
  for (const HookInfo& hook : info.hooks) all.push_back(hook.FullName());
  for (const JoinLine& line : rule.lines) {
    const std::size_t value = bound.values_.size();
    bound.values_.emplace_back(info, std::vector<std::string>{line.value});
    bool matches = false, has_value = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const HookInfo& hook = info.hooks[i];
      if (!base::GlobMatches(line.hooks.c_str(), all[i].c_str())) continue;
      matches = true;
      if (!bound.values_[value].IsOf(hook.id)) continue;
      has_value = true;
      bound.Add(hook.id, value);
    }
    if (has_value) continue;
    return base::ErrorAt(
        {rule.text, line.line},
        matches
            ? absl::StrFormat(
                  "no hook `%s` has a value `%s` at its enter%s; the trace's "
                  "hooks have %s",
                  base::EscapeName(line.hooks), base::EscapeName(line.value),
                  DidYouMean(line.value, ValueNames(info)),
                  Listed(ValueNames(info)))
            : absl::StrFormat("the trace has no hook `%s`%s; `countrace list "
                              "hooks TRACE` names them",
                              base::EscapeName(line.hooks),
                              DidYouMean(line.hooks, all)));
  }
  return bound;
}

std::optional<std::string> JoinValues::Of(const logformat::EventRecord& record,
                                          std::uint32_t hook_id) const {
  const auto found = hooks_.find(hook_id);
  if (found == hooks_.end()) return std::nullopt;
  auto text = logformat::TextOf(values_[found->second].Of(record));
  if (text && (text->empty() || *text == logformat::kUnreadable)) {
    return std::nullopt;
  }
  return text;
}

}  // namespace countrace::rmap
