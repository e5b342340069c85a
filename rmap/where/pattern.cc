#include "rmap/where/pattern.h"

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"

namespace countrace::rmap::where {

// Recursive descent; each group is one level.
class PatternParser {
 public:
  PatternParser(std::string_view text, Pattern& out) : text_(text), out_(out) {}

  bool Parse(PatternError& error) {
    if (text_.size() > Pattern::kMaxBytes) {
      Fail(0, absl::StrFormat("a pattern of %d bytes; at most %d are read",
                              text_.size(), Pattern::kMaxBytes));
    }
    Alternatives(0);
    if (!error_ && at_ < text_.size()) Fail(at_, "`)` closes no group");
    if (error_) {
      error = *error_;
      return false;
    }
    Emit({Pattern::Step::kMatch});
    return true;
  }

 private:
  using Step = Pattern::Step;
  using Bytes = Pattern::Bytes;
  using Code = std::vector<Pattern::Instruction>;

  void Fail(std::size_t offset, std::string message) {
    if (!error_) error_ = PatternError{offset, std::move(message)};
    at_ = text_.size();
  }
  bool More() const { return at_ < text_.size(); }

  void Emit(Pattern::Instruction instruction) {
    out_.program_.push_back(instruction);
  }
  // Targets are relative: those from `at` on move as a whole.
  void Insert(std::size_t at, Pattern::Instruction instruction) {
    out_.program_.insert(
        out_.program_.begin() + static_cast<std::ptrdiff_t>(at), instruction);
  }
  std::size_t Size() const { return out_.program_.size(); }
  static std::int32_t Distance(std::size_t from, std::size_t to) {
    return static_cast<std::int32_t>(to) - static_cast<std::int32_t>(from);
  }

  void Alternatives(std::size_t depth) {
    if (depth > Pattern::kMaxDepth) {
      Fail(at_,
           absl::StrFormat("nested more than %d deep", Pattern::kMaxDepth));
      return;
    }
    // a|b|c: fork over a to (fork over b to c); all jump to the end.
    std::vector<std::size_t> jumps;
    while (true) {
      const std::size_t begin = Size();
      Sequence(depth);
      if (!More() || text_[at_] != '|') break;
      ++at_;
      Insert(begin, {Step::kFork, Distance(begin, Size() + 2)});
      jumps.push_back(Size());
      Emit({Step::kJump});
    }
    for (const std::size_t jump : jumps) {
      out_.program_[jump].target = Distance(jump, Size());
    }
  }

  void Sequence(std::size_t depth) {
    while (More() && text_[at_] != '|' && text_[at_] != ')') {
      const std::size_t begin = Size();
      Atom(depth);
      while (More() && Repetition(begin)) ++at_;
    }
  }

  bool Repetition(std::size_t begin) {
    switch (text_[at_]) {
      case '*':
        Insert(begin, {Step::kFork, Distance(begin, Size() + 2)});
        Emit({Step::kJump, Distance(Size(), begin)});
        return true;
      case '+':
        // Leaves by going on, so the fork leads back.
        Emit({Step::kFork, Distance(Size(), begin)});
        return true;
      case '?':
        Insert(begin, {Step::kFork, Distance(begin, Size() + 1)});
        return true;
      default:
        return false;
    }
  }

  void Atom(std::size_t depth) {
    const std::size_t offset = at_;
    const char c = text_[at_++];
    switch (c) {
      case '(':
        Alternatives(depth + 1);
        if (error_) return;
        if (!More()) {
          Fail(offset, "the group `(` is not closed");
          return;
        }
        ++at_;
        return;
      case '^':
        Emit({Step::kBegin});
        return;
      case '$':
        Emit({Step::kEnd});
        return;
      case '.':
        EmitBytes(Bytes().set());
        return;
      case '[':
        EmitBytes(Class(offset));
        return;
      case '\\':
        EmitBytes(Escape(offset));
        return;
      case '*':
      case '+':
      case '?':
        Fail(offset,
             absl::StrFormat("`%c` repeats nothing; write \\%c for the sign", c,
                             c));
        return;
      case '{':
      case '}':
        Fail(offset,
             absl::StrFormat("`%c` repeats a number of times: not known here; "
                             "write \\%c for the sign",
                             c, c));
        return;
      default:
        EmitBytes(Bytes().set(static_cast<unsigned char>(c)));
    }
  }

  void EmitBytes(const Bytes& bytes) {
    Emit({Step::kByte, 0, static_cast<std::uint32_t>(out_.classes_.size())});
    out_.classes_.push_back(bytes);
  }

  // Behind a backslash, which stands at `offset`.
  Bytes Escape(std::size_t offset) {
    Bytes bytes;
    if (!More()) {
      Fail(offset, "a backslash at the end");
      return bytes;
    }
    const char c = text_[at_++];
    for (unsigned i = 0; i < 256; ++i) {
      const auto byte = static_cast<unsigned char>(i);
      switch (absl::ascii_tolower(c)) {
        case 'd':
          bytes[i] = absl::ascii_isdigit(byte);
          break;
        case 'w':
          bytes[i] = absl::ascii_isalnum(byte) || byte == '_';
          break;
        case 's':
          bytes[i] = absl::ascii_isspace(byte);
          break;
        default:
          bytes[i] = static_cast<unsigned char>(c) == byte;
      }
    }
    if (c == 'D' || c == 'W' || c == 'S') bytes.flip();
    if (absl::ascii_isalnum(c) && bytes.count() == 1) {
      Fail(offset, absl::StrFormat("`\\%c` has no meaning in a pattern", c));
    }
    return bytes;
  }

  // Behind a `[`, which stands at `offset`. A `]` at the begin is one of them.
  Bytes Class(std::size_t offset) {
    Bytes bytes;
    const bool negated = More() && text_[at_] == '^';
    if (negated) ++at_;
    for (bool first = true; !More() || text_[at_] != ']' || first;
         first = false) {
      if (!More()) {
        Fail(offset, "the class `[` is not closed");
        return bytes;
      }
      const std::size_t from_at = at_;
      const std::optional<unsigned char> from = ClassByte(bytes);
      const bool range =
          at_ + 1 < text_.size() && text_[at_] == '-' && text_[at_ + 1] != ']';
      if (!range) continue;
      ++at_;
      const std::optional<unsigned char> to = ClassByte(bytes);
      if (error_) return bytes;
      if (!from || !to || *to < *from) {
        Fail(from_at, "the range has no begin, or ends before it");
        return bytes;
      }
      for (unsigned i = *from; i <= *to; ++i) bytes.set(i);
    }
    ++at_;
    return negated ? ~bytes : bytes;
  }

  // One byte, or the bytes of \d and the like, which begin no range.
  std::optional<unsigned char> ClassByte(Bytes& bytes) {
    const std::size_t offset = at_;
    const char c = text_[at_++];
    if (c != '\\') {
      bytes.set(static_cast<unsigned char>(c));
      return static_cast<unsigned char>(c);
    }
    const Bytes escaped = Escape(offset);
    bytes |= escaped;
    if (escaped.count() != 1) return std::nullopt;
    return static_cast<unsigned char>(text_[at_ - 1]);
  }

  const std::string_view text_;
  Pattern& out_;
  std::size_t at_ = 0;
  std::optional<PatternError> error_;
};

bool Pattern::Parse(std::string_view text, PatternError& error) {
  program_.clear();
  classes_.clear();
  return PatternParser(text, *this).Parse(error);
}

bool Pattern::Add(std::uint32_t state, bool at_begin, bool at_end,
                  States& states) const {
  std::vector<std::uint32_t> pending = {state};
  while (!pending.empty()) {
    const std::uint32_t at = pending.back();
    pending.pop_back();
    if (states.has[at]) continue;
    states.has[at] = true;
    const Instruction& instruction = program_[at];
    const auto target = static_cast<std::uint32_t>(
        static_cast<std::int32_t>(at) + instruction.target);
    switch (instruction.step) {
      case Step::kMatch:
        return true;
      case Step::kByte:
        states.list.push_back(at);
        break;
      case Step::kFork:
        pending.push_back(target);
        pending.push_back(at + 1);
        break;
      case Step::kJump:
        pending.push_back(target);
        break;
      case Step::kBegin:
        if (at_begin) pending.push_back(at + 1);
        break;
      case Step::kEnd:
        if (at_end) pending.push_back(at + 1);
        break;
    }
  }
  return false;
}

bool Pattern::Finds(std::string_view text) const {
  States now, next;
  now.has.assign(program_.size(), false);
  for (std::size_t at = 0;; ++at) {
    // A match may begin anywhere.
    if (Add(0, at == 0, at == text.size(), now)) return true;
    if (at == text.size()) return false;
    next.list.clear();
    next.has.assign(program_.size(), false);
    const auto byte = static_cast<unsigned char>(text[at]);
    for (const std::uint32_t state : now.list) {
      if (!classes_[program_[state].bytes][byte]) continue;
      if (Add(state + 1, false, at + 1 == text.size(), next)) return true;
    }
    std::swap(now, next);
  }
}

}  // namespace countrace::rmap::where
