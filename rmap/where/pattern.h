// Regular expressions of `--where`: searched for in a text in time proportional
// to its length, whatever the pattern.
//
// The pattern becomes a program of a machine that is in many states at once
// (Thompson 1968; Cox, swtch.com/~rsc/regexp), so that nothing backtracks.
// Bytes, not characters: '.' is one byte. Thread: any once parsed.
#ifndef COUNTRACE_RMAP_WHERE_PATTERN_H_
#define COUNTRACE_RMAP_WHERE_PATTERN_H_

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace countrace::rmap::where {

// What is wrong with a pattern, and where in it.
struct PatternError {
  std::size_t offset = 0;
  std::string message;
};

class Pattern {
 public:
  static constexpr std::size_t kMaxBytes = 1024;
  static constexpr std::size_t kMaxDepth = 64;

  // Characters, ., [a-z], [^a-z], \d \w \s \D \W \S, \ before any other sign,
  // groups (), alternatives |, repetition * + ?, ^ and $ for begin and end.
  // Returns: true, or false with `error` filled in.
  bool Parse(std::string_view text, PatternError& error);

  // True if some part of `text` matches. Requires: Parse() returned true.
  bool Finds(std::string_view text) const;

 private:
  friend class PatternParser;
  using Bytes = std::bitset<256>;
  enum class Step : std::uint8_t { kByte, kFork, kJump, kBegin, kEnd, kMatch };
  struct Instruction {
    Step step{};
    // Relative, so that code can be moved. kFork goes on with the next one as
    // well.
    std::int32_t target = 0;
    std::uint32_t bytes = 0;  // kByte: index of classes_
  };

  // States that a set holds, each once.
  struct States {
    std::vector<std::uint32_t> list;
    std::vector<bool> has;
  };
  // Adds `state` and what it leads to without a byte; true if that is a match.
  bool Add(std::uint32_t state, bool at_begin, bool at_end,
           States& states) const;

  std::vector<Instruction> program_;
  std::vector<Bytes> classes_;
};

}  // namespace countrace::rmap::where

#endif  // COUNTRACE_RMAP_WHERE_PATTERN_H_
