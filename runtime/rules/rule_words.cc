#include "runtime/rules/rule_words.h"

#include <string>

#include "absl/strings/str_format.h"

namespace countrace::runtime {
absl::Status RuleWords::Error(std::size_t at, std::string_view why) const {
  std::size_t end = at;
  while (end < text_.size() && !IsBlank(text_[end])) ++end;
  // Escaped: the user's text may hold any characters.
  const auto shown = [](std::string_view part) {
    std::string out;
    for (const char c : part.substr(0, 80)) out += c < ' ' || c > '~' ? '?' : c;
    return out;
  };
  const std::string word = shown(text_.substr(at, end - at));
  return absl::InvalidArgumentError(absl::StrFormat(
      "%s \"%s\", column %d: %s: %s", kind_, shown(text_), at + 1,
      word.empty() ? absl::StrFormat("the %s ends here", short_kind_)
                   : "`" + word + "`",
      why));
}

std::size_t RuleWords::SkipBlanks() {
  while (at_ < text_.size() && IsBlank(text_[at_])) ++at_;
  return at_;
}

std::string_view RuleWords::PeekWord() {
  std::size_t end = SkipBlanks();
  while (end < text_.size() && !IsBlank(text_[end])) ++end;
  return text_.substr(at_, end - at_);
}

std::string_view RuleWords::Word() {
  const std::string_view word = PeekWord();
  at_ += word.size();
  return word;
}

bool RuleWords::TakeWord(std::string_view word) {
  if (PeekWord() != word) return false;
  at_ += word.size();
  return true;
}

}  // namespace countrace::runtime
