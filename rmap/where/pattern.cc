#include "rmap/where/pattern.h"

#include <re2/re2.h>

#include <vector>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"

namespace countrace::rmap::where {
namespace {

using re2::RE2;

RE2::Options PatternOptions() {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);  // match bytes
  options.set_dot_nl(true);
  options.set_never_capture(true);
  options.set_log_errors(false);
  options.set_max_mem(std::int64_t{1} << 20);
  return options;
}

std::string Message(const RE2& re2) {
  const std::string part = base::EscapeName(re2.error_arg());
  switch (re2.error_code()) {
    case RE2::ErrorMissingParen:
      return "the group `(` is not closed";
    case RE2::ErrorUnexpectedParen:
      return "`)` closes no group";
    case RE2::ErrorMissingBracket:
      return "the class `[` is not closed";
    case RE2::ErrorTrailingBackslash:
      return "a backslash at the end";
    case RE2::ErrorBadEscape:
      return absl::StrFormat("`%s` has no meaning in a pattern", part);
    case RE2::ErrorBadCharRange:
      return absl::StrFormat("`%s` is no range of characters", part);
    case RE2::ErrorRepeatArgument:
      return absl::StrFormat("`%s` repeats nothing; write \\%s for the sign",
                             part, part);
    case RE2::ErrorRepeatOp:
      return absl::StrFormat("`%s` repeats a repetition", part);
    case RE2::ErrorRepeatSize:
      return absl::StrFormat("`%s` repeats too often", part);
    case RE2::ErrorPatternTooLarge:
      return "the pattern takes too much memory";
    default:
      return absl::StrFormat("`%s` is not understood", part);
  }
}

// The place of the error in `text`. RE2 reports the wrong part, not its place:
// this finds the first equal part that can be the wrong one.
std::size_t PlaceOf(const RE2& re2, std::string_view text) {
  const RE2::ErrorCode code = re2.error_code();
  const std::string& part = re2.error_arg();
  if (code == RE2::ErrorTrailingBackslash) return text.size() - 1;
  if (code == RE2::ErrorMissingBracket) return text.size() - part.size();
  const bool of_group =
      code == RE2::ErrorMissingParen || code == RE2::ErrorUnexpectedParen;
  const bool in_any_class =
      code == RE2::ErrorBadCharRange || code == RE2::ErrorBadEscape;
  std::vector<std::size_t> open;  // open groups
  std::size_t class_end = 0;      // before it, a `]` is an ordinary character
  bool in_class = false, empty = true;  // `empty`: nothing to repeat here
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (!of_group && text.substr(at).starts_with(part) &&
        (in_class ? in_any_class : empty || code != RE2::ErrorRepeatArgument)) {
      return at;
    }
    empty = !in_class && (c == '(' || c == '|');
    if (c == '\\') {
      ++at;
    } else if (in_class) {
      in_class = c != ']' || at < class_end;
    } else if (c == '[') {
      in_class = true;
      class_end = at + (text.substr(at).starts_with("[^") ? 3 : 2);
    } else if (c == '(') {
      open.push_back(at);
    } else if (c == ')') {
      if (open.empty()) return at;
      open.pop_back();
    }
  }
  return open.empty() ? 0 : open.back();
}

}  // namespace

bool Pattern::Parse(std::string_view text, PatternError& error) {
  if (text.size() > kMaxBytes) {
    error = {0, absl::StrFormat("a pattern of %d bytes; at most %d are read",
                                text.size(), kMaxBytes)};
    return false;
  }
  compiled_ = std::make_shared<const RE2>(
      re2::StringPiece(text.data(), text.size()), PatternOptions());
  if (compiled_->ok()) return true;
  error = {PlaceOf(*compiled_, text), Message(*compiled_)};
  return false;
}

bool Pattern::Finds(std::string_view text) const {
  return compiled_->Match(re2::StringPiece(text.data(), text.size()), 0,
                          text.size(), RE2::UNANCHORED, nullptr, 0);
}

}  // namespace countrace::rmap::where
