// Splits the text of a rule into words and reports errors at a word. Shared by
// dump rules and triggers.
//
// Thread: one.
#ifndef COUNTRACE_RUNTIME_RULES_RULE_WORDS_H_
#define COUNTRACE_RUNTIME_RULES_RULE_WORDS_H_

#include <cstddef>
#include <string_view>

#include "absl/status/status.h"

namespace countrace::runtime {

class RuleWords {
 protected:
  // `kind` and `short_kind` name the text in errors: "Dump rule", "rule". All
  // must outlive this.
  RuleWords(std::string_view kind, std::string_view short_kind,
            std::string_view text)
      : text_(text), kind_(kind), short_kind_(short_kind) {}

  static bool IsBlank(char c) { return c == ' ' || c == '\t'; }
  // INVALID_ARGUMENT with the expectation `why`, quoting the word at `at`.
  absl::Status Error(std::size_t at, std::string_view why) const;
  std::size_t SkipBlanks();
  std::string_view PeekWord();
  std::string_view Word();  // up to a blank; moves the position behind it
  bool TakeWord(std::string_view word);

  const std::string_view text_;
  std::size_t at_ = 0;

 private:
  std::string_view kind_, short_kind_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RULES_RULE_WORDS_H_
