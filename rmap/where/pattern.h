// Regular expressions of `--where`: RE2, so that a search takes time
// proportional to the length of the text, and bounded memory, whatever the
// pattern.
//
// Bytes, not characters: '.' is one byte. Thread: any once parsed.
#ifndef COUNTRACE_RMAP_WHERE_PATTERN_H_
#define COUNTRACE_RMAP_WHERE_PATTERN_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace countrace::rmap::where {

// The error in a pattern, and its place.
struct PatternError {
  std::size_t offset = 0;
  std::string message;
};

class Pattern {
 public:
  static constexpr std::size_t kMaxBytes = 1024;

  // RE2's syntax; ^ and $ are begin and end of the text, . and [^a] also match
  // a newline.
  // Returns false and fills in `error` if the pattern is wrong.
  bool Parse(std::string_view text, PatternError& error);

  // True if a part of `text` matches. Requires: Parse() returned true.
  bool Finds(std::string_view text) const;

 private:
  std::shared_ptr<const re2::RE2> compiled_;
};

}  // namespace countrace::rmap::where

#endif  // COUNTRACE_RMAP_WHERE_PATTERN_H_
