#include "viewer/server/wire/api_query.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/text/quantity_parse.h"

namespace countrace::viewer {
namespace {

std::vector<std::string> SplitAtCommas(std::string_view text) {
  return absl::StrSplit(std::string(text), ',');
}

}  // namespace

std::string_view ApiQuery::Word(std::string_view name) const {
  const auto found = target_.parameters.find(name);
  return found == target_.parameters.end() ? std::string_view()
                                           : std::string_view(found->second);
}

std::optional<std::uint64_t> ApiQuery::Number(
    std::string_view name, std::optional<std::uint64_t> otherwise,
    std::uint64_t most) {
  const auto found = target_.parameters.find(name);
  if (found == target_.parameters.end()) {
    if (!otherwise) error_ = absl::StrFormat("Missing parameter: %s", name);
    return otherwise;
  }
  const std::optional<std::uint64_t> value = base::ParseInteger(found->second);
  if (!value) {
    error_ = absl::StrFormat("Not a number: %s (digits only)", name);
    return std::nullopt;
  }
  if (*value > most) {
    error_ = absl::StrFormat("Too large: %s=%d, most=%d", name, *value, most);
    return std::nullopt;
  }
  return value;
}

std::optional<std::vector<std::uint64_t>> ApiQuery::Numbers(
    std::string_view name, std::size_t most) {
  std::vector<std::uint64_t> numbers;
  if (Word(name).empty()) return numbers;
  for (const std::string& part : SplitAtCommas(Word(name))) {
    const std::optional<std::uint64_t> value = base::ParseInteger(part);
    if (!value) {
      error_ = absl::StrFormat(
          "Not a list of numbers: %s (digits, separated by commas)", name);
      return std::nullopt;
    }
    if (numbers.size() == most) {
      error_ = absl::StrFormat("Too many numbers: %s, most=%d", name, most);
      return std::nullopt;
    }
    numbers.push_back(*value);
  }
  return numbers;
}

std::optional<std::string> ApiQuery::Text(std::string_view name) {
  const std::string_view word = Word(name);
  std::string text;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '%') {
      text += word[i];
      continue;
    }
    if (i + 2 >= word.size() || !absl::ascii_isxdigit(word[i + 1]) ||
        !absl::ascii_isxdigit(word[i + 2])) {
      error_ = absl::StrFormat(
          "Not percent-encoded: %s (two hex digits after each %%)", name);
      return std::nullopt;
    }
    text += absl::HexStringToBytes(std::string(word.substr(i + 1, 2)));
    i += 2;
  }
  return text;
}

std::optional<TimeRange> ApiQuery::Range(std::string_view from,
                                         std::string_view to) {
  const std::optional<std::uint64_t> begin = Number(from, std::nullopt);
  if (!begin) return std::nullopt;
  const std::optional<std::uint64_t> end = Number(to, std::nullopt);
  if (!end) return std::nullopt;
  if (*begin > *end) {
    error_ = absl::StrFormat("Range ends before it begins: %s=%d, %s=%d", from,
                             *begin, to, *end);
    return std::nullopt;
  }
  return TimeRange{*begin, *end};
}

}  // namespace countrace::viewer
