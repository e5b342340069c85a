// What patterns rely on in RE2: its options, places of errors, bounds.
#include <catch2/catch.hpp>
#include <random>
#include <regex>
#include <string>

#include "rmap/where/pattern.h"

namespace countrace::rmap::where {
namespace {

bool Finds(const std::string& pattern, const std::string& text) {
  Pattern parsed;
  PatternError error;
  INFO(pattern << " in " << text);
  REQUIRE(parsed.Parse(pattern, error));
  return parsed.Finds(text);
}

TEST_CASE("pattern: what each sign means", "[rmap][where]") {
  CHECK(Finds("", ""));
  CHECK(Finds("cmd.*", "redis:cmd_get"));
  CHECK_FALSE(Finds("^cmd", "redis:cmd_get"));
  CHECK(Finds("get$", "redis:cmd_get"));
  CHECK(Finds("^(a|bc)+$", "abcbca"));
  CHECK_FALSE(Finds("^(a|bc)+$", "abca b"));
  CHECK(Finds("^[a-c]x?[^0-9]$", "b!"));
  CHECK(Finds("[]x]", "]"));
  CHECK(Finds("[a-]", "-"));
  CHECK(Finds("[\\d\\]]", "]"));
  CHECK(Finds("\\d\\w\\s\\.\\\\", "1_ .\\"));
  CHECK_FALSE(Finds("^\\D$", "7"));
  CHECK(Finds("a\\{2\\}", "a{2}"));
  CHECK(Finds("^a{2,3}$", "aaa"));
  CHECK(Finds("(?i)GET", "redis:cmd_get"));
  CHECK(Finds("^a.[^x]b$", "a\n\nb"));
  CHECK_FALSE(Finds("a$", "a\n"));
  CHECK_FALSE(Finds("^b", "a\nb"));
  CHECK(Finds(std::string("a\0b", 3), std::string("xa\0b", 4)));
  CHECK(Finds("^.$", "\xff"));
  CHECK(Finds("^..$", "\xc3\xa9"));  // bytes
}

TEST_CASE("pattern: as std::regex, for random ones", "[rmap][where]") {
  std::mt19937 random(7);
  constexpr const char* kPieces[] = {
      "a",  "b",     "c",     ".", "[ab]", "[^a]", "a*",    "b+",
      "c?", "(a|b)", "(ab)*", "^", "$",    "|",    "(b|)c", "(a*b)+"};
  int found = 0, rounds = 0;
  for (; rounds < 6000; ++rounds) {
    std::string pattern, text;
    for (auto i = random() % 5; i > 0; --i) {
      pattern += kPieces[random() % std::size(kPieces)];
    }
    for (auto i = random() % 7; i > 0; --i) text += "abc"[random() % 3];
    const std::regex known(pattern, std::regex::ECMAScript);
    CAPTURE(pattern, text);
    const bool expected = std::regex_search(text, known);
    REQUIRE(Finds(pattern, text) == expected);
    found += expected ? 1 : 0;
  }
  CHECK(found > rounds / 10);  // both outcomes were compared
  CHECK(found < rounds * 9 / 10);
}

TEST_CASE("pattern: every error has its place", "[rmap][where]") {
  struct Case {
    const char* pattern;
    std::size_t offset;
    const char* message;
  };
  const Case cases[] = {
      {"a(b", 1, "not closed"},
      {"a)b", 1, "closes no group"},
      {"*a", 0, "repeats nothing"},
      {"a|+", 2, "repeats nothing"},
      {"ab{2000}", 2, "too often"},
      {"x[ab", 1, "not closed"},
      {"[b-a]", 1, "range"},
      {"a*|(*)", 4, "repeats nothing"},
      {"a\\", 1, "at the end"},
      {"a\\q", 1, "no meaning"},
      {"\\\\q\\q", 3, "no meaning"},
      {"((a)[)(]", 0, "not closed"},
      {"[]**]b**", 6, "repeats a repetition"},
      {"a(?=b)", 1, "not understood"},
      {"(a{900}){800}", 8, "too often"},
      {"\\(b\\))", 5, "closes no group"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.pattern);
    Pattern pattern;
    PatternError error;
    REQUIRE_FALSE(pattern.Parse(c.pattern, error));
    CHECK(error.offset == c.offset);
    CHECK_THAT(error.message, Catch::Contains(c.message));
  }
  Pattern pattern;
  PatternError error;
  CHECK_FALSE(pattern.Parse(std::string(Pattern::kMaxBytes + 1, 'a'), error));
  CHECK_FALSE(pattern.Parse(std::string(Pattern::kMaxBytes, '('), error));
  std::string large;
  for (int i = 0; i < 150; ++i) large += "a{900}";
  CHECK_FALSE(pattern.Parse(large, error));
  CHECK_THAT(error.message, Catch::Contains("memory"));
}

TEST_CASE("pattern: nothing backtracks", "[rmap][where]") {
  // Exponential for a backtracking matcher.
  std::string pattern;
  for (int i = 0; i < 40; ++i) pattern += "(a*)*";
  CHECK_FALSE(Finds("^" + pattern + "$", std::string(2000, 'a') + "b"));
  CHECK(Finds("^(a|aa)+$", std::string(5000, 'a')));
}

}  // namespace
}  // namespace countrace::rmap::where
