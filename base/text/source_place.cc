#include "base/text/source_place.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"

namespace countrace::base {
namespace {

// Characters of a long line that are shown before and after the caret.
constexpr std::size_t kShownBefore = 60, kShownAfter = 40;

std::string Head(const SourcePlace& place, std::string_view message) {
  return absl::StrFormat("%s:%d:%d: %s", EscapeName(place.file), place.line,
                         place.column, message);
}

}  // namespace

absl::Status ErrorAt(const SourcePlace& place, std::string_view message) {
  return absl::InvalidArgumentError(Head(place, message));
}

absl::Status ErrorAt(const SourcePlace& place, std::string_view text,
                     std::size_t offset, std::string_view message) {
  offset = std::min(offset, text.size());
  const std::string_view before = text.substr(0, offset);
  const std::size_t newline = before.rfind('\n');
  const std::size_t begin = newline == before.npos ? 0 : newline + 1;
  SourcePlace at = place;
  at.line +=
      static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  at.column = (newline == before.npos ? place.column : 1) + (offset - begin);
  std::string_view left = text.substr(begin, offset - begin);
  const bool cut = left.size() > kShownBefore;
  if (cut) left.remove_prefix(left.size() - kShownBefore);
  std::string_view right = text.substr(offset);
  right = right.substr(0, std::min(right.find('\n'), kShownAfter));
  const std::string shown = (cut ? "..." : "") + EscapeName(left);
  return absl::InvalidArgumentError(absl::StrFormat(
      "%s\n  %s%s\n  %s^", Head(at, message), shown, EscapeName(right),
      std::string(DisplayColumns(shown), ' ')));
}

}  // namespace countrace::base
