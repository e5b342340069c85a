#include "viewer/server/api_query.h"

#include "absl/strings/str_format.h"
#include "base/text/quantity_parse.h"

namespace countrace::viewer {

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

std::optional<TimeRange> ApiQuery::Range() {
  const std::optional<std::uint64_t> from = Number("from", std::nullopt);
  if (!from) return std::nullopt;
  const std::optional<std::uint64_t> to = Number("to", std::nullopt);
  if (!to) return std::nullopt;
  if (*from > *to) {
    error_ = absl::StrFormat("Range ends before it begins: from=%d, to=%d",
                             *from, *to);
    return std::nullopt;
  }
  return TimeRange{*from, *to};
}

}  // namespace countrace::viewer
