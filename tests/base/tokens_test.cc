// Tokens: what begins a word, a number, a text in quotes; chunks up to a blank;
// errors at their place.
#include "base/text/tokens.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace countrace::base {
namespace {

constexpr std::string_view kSigns[] = {"==", "<", "-"};
constexpr TokenRules kRules = {
    .word_signs = ".:", .signs = kSigns, .escapes = true};
const SourcePlace kPlace = {"--test", 1, 1};

std::vector<Token> All(std::string_view text) {
  Tokens tokens(text, kPlace, kRules);
  std::vector<Token> all;
  while (true) {
    const auto token = tokens.Next();
    INFO(text);
    REQUIRE(token.ok());
    if (token->kind == TokenKind::kEnd) return all;
    all.push_back(*token);
  }
}

TEST_CASE("tokens: each kind, with its place", "[base]") {
  const auto tokens = All("a.b:c== -12.5ms 'it\\'s'  1e3x");
  REQUIRE(tokens.size() == 6);
  CHECK(tokens[0].text == "a.b:c");
  CHECK(tokens[1].text == "==");
  CHECK(tokens[1].kind == TokenKind::kSign);
  CHECK(tokens[2].text == "-");
  CHECK(tokens[3].digits() == "12.5");
  CHECK(tokens[3].suffix == "ms");
  CHECK(tokens[4].Unescaped() == "it's");
  CHECK(tokens[4].offset == 16);
  CHECK(tokens[5].digits() == "1e3");
}

TEST_CASE("tokens: a backslash stands for itself before other signs",
          "[base]") {
  CHECK(All(R"("\.so$ \\ \"")")[0].Unescaped() == R"(\.so$ \ ")");
}

TEST_CASE("tokens: chunks take all up to a blank", "[base]") {
  Tokens tokens("  lib*.so+0x1-0x2\tevery 5", kPlace, kRules);
  CHECK(tokens.Begin() == 2);
  CHECK(tokens.PeekChunk() == "lib*.so+0x1-0x2");
  CHECK_FALSE(tokens.TakeChunk("lib"));
  CHECK(tokens.Chunk() == "lib*.so+0x1-0x2");
  CHECK(tokens.TakeChunk("every"));
  CHECK(tokens.Next()->text == "5");
  CHECK(tokens.Chunk().empty());
  CHECK(tokens.Begin() == tokens.position());
}

TEST_CASE("tokens: errors point at the wrong character", "[base]") {
  for (const auto& [text, column] :
       {std::pair{"a ? b", 3}, {"a \"b", 3}, {"a = b", 3}, {"\xc3\xa4", 1}}) {
    Tokens tokens(text, kPlace, kRules);
    auto token = tokens.Next();
    if (token.ok()) token = tokens.Next();
    REQUIRE_FALSE(token.ok());
    CHECK_THAT(std::string(token.status().message()),
               Catch::StartsWith("--test:1:" + std::to_string(column) + ":"));
  }
}

}  // namespace
}  // namespace countrace::base
