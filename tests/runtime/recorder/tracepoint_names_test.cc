// Names of numbers from the print formats of tracepoints: those of this
// kernel's kinds, and texts that are none.
#include "runtime/recorder/system/tracepoint_names.h"

#include <catch2/catch.hpp>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "logformat/read/call_flags.h"

namespace countrace::runtime {
namespace {

using logformat::NumberNames;
using logformat::NumberText;

std::optional<std::uint64_t> ValueOf(std::string_view word) {
  if (word == "LEAST") return ~std::uint64_t{0};
  if (word == "SIX") return 6;
  return std::nullopt;
}

FieldNames NamesOf(const std::string& format) {
  return TracepointNames(format, ValueOf);
}

FieldNames Names(const std::string& arguments) {
  return NamesOf("name: x\nprint fmt: \"a=%s, (b\", " + arguments + "\n");
}

// The only field with names: that of `value`.
std::string Text(const std::string& arguments, std::uint64_t value) {
  const FieldNames names = Names(arguments);
  REQUIRE(names.size() == 1);
  REQUIRE(names.begin()->second != nullptr);
  return NumberText(*names.begin()->second, value);
}

bool HasNone(const std::string& arguments) {
  for (const auto& [field, names] : Names(arguments)) {
    if (names != nullptr) return false;
  }
  return true;
}

TEST_CASE("tracepoint_names: an enumeration") {
  const std::string vec =
      "REC->vec, __print_symbolic(REC->vec, { 0, \"HI\" }, { 1, \"TIMER\" }, "
      "{ 0x2, \"NET, TX)\" }, {-3, \"LESS\"})";
  CHECK(Text(vec, 0) == "HI");
  CHECK(Text(vec, 1) == "TIMER");
  CHECK(Text(vec, 2) == "NET, TX)");
  CHECK(Text(vec, static_cast<std::uint64_t>(-3)) == "LESS");
  CHECK(Text(vec, 0xfffffffd) == "LESS");
  CHECK(Text(vec, 4).empty());
}

TEST_CASE("tracepoint_names: flags, as the kernel looks for them") {
  const std::string flags =
      "(REC->f) ? __print_flags(REC->f, \"|\", {( unsigned long)((( gfp_t)"
      "(((((1UL))) << (10))|((((1UL))) << (11)))) | (( gfp_t)((((1UL))) << "
      "(6)))), \"GFP_NOFS\"}, {(1u << 6), \"IO\"}, { 1 << 1, \"TWO\" }, { "
      "0, ((void *)0) } ) : \"none\"";
  CHECK(Text(flags, 0xc40) == "GFP_NOFS");
  CHECK(Text(flags, 0xc42) == "GFP_NOFS|TWO");
  CHECK(Text(flags, 0x40) == "IO");
  CHECK(Text(flags, 0x840) == "IO|0x800");
  CHECK(Text(flags, 0) == "none");
  CHECK(Text(flags, 0x800).empty());
}

TEST_CASE("tracepoint_names: a part of the field") {
  const std::string state =
      "(REC->state & ((((0x00 | 0x1 | 0x80) + 1) << 1) - 1)) ? "
      "__print_flags(REC->state & ((((0x00 | 0x1 | 0x80) + 1) << 1) - 1), "
      "\"|\", { 0x00000001, \"S\" }, { 0x2, \"D\" }, {0x1000, \"X\"}) : \"R\"";
  CHECK(Text(state, 0) == "R");
  CHECK(Text(state, 1) == "S");
  CHECK(Text(state, 0x200) == "R|0x200");
  CHECK(Text(state, 0x202) == "D|0x200");
  CHECK(Text(state, 0x1000) == "R|0x1000");
  const std::string ioprio =
      "__print_symbolic((((REC->p) >> 13) & (8 - 1)), { 0, \"none\" }, "
      "{ 2, \"be\"}, {9, \"not in it\"})";
  CHECK(Text(ioprio, 2 << 13) == "be");
  CHECK(Text(ioprio, 2 << 13 | 4) == "be|0x4");
  CHECK(Text(ioprio, 4) == "none|0x4");
  CHECK(Text(ioprio, 1 << 13).empty());
}

TEST_CASE("tracepoint_names: words that the kernel describes") {
  const std::string words =
      "__print_symbolic(REC->x, {SIX, \"six\"}, {( u8)SIX + 1, \"seven\"}, "
      "{(LEAST), \"least\"}, {OTHER, \"other\"}, {8, \"eight\"})";
  CHECK(Text(words, 6) == "six");
  CHECK(Text(words, 7) == "seven");
  CHECK(Text(words, 0xffffffff) == "least");
  CHECK(Text(words, 8) == "eight");
  CHECK(Text(words, 9).empty());
}

TEST_CASE("tracepoint_names: what is not understood has no names") {
  const std::string pairs = "{ 1, \"A\" })";
  CHECK(HasNone("__print_symbolic(REC->x ? REC->x : 0, " + pairs));
  CHECK(HasNone("__print_flags((1 << REC->x), \"|\", " + pairs));
  CHECK(HasNone("__print_symbolic(REC->x[0], " + pairs));
  CHECK(HasNone("__print_symbolic(REC->x | 1, " + pairs));
  CHECK(HasNone("__print_symbolic(~REC->x, " + pairs));
  CHECK(HasNone("__print_symbolic(REC->x >> 64, " + pairs));
  CHECK(HasNone("__print_symbolic(2ULL, " + pairs));
  CHECK(HasNone("__print_symbolic(REC->x, {WORD, \"A\"})"));
  CHECK(HasNone("__print_symbolic(REC->x, {1, \"a\\n\"})"));
  CHECK(HasNone("__print_symbolic(REC->x, {1, \"\"}, {2}, {}, 3)"));
  CHECK(HasNone("__print_symbolic(REC->x)"));
  // Under other conditions, or named twice.
  CHECK(HasNone("(REC->y == 1) ? __print_symbolic(REC->x, " + pairs));
  CHECK(HasNone("REC->x ? \"\" : __print_symbolic(REC->x, " + pairs));
  CHECK(HasNone("__print_symbolic(REC->x, " + pairs +
                ", __print_symbolic(REC->x, { 1, \"B\" })"));
  CHECK(
      HasNone("(REC->x >= 1ULL && REC->x <= 8ULL) ? __print_symbolic("
              "REC->x, " +
              pairs + " : \"-\""));
  // Words are left out, and their numbers stay.
  CHECK(Text("__print_flags((unsigned long)REC->x, \"|\", {WORD, \"A\"}, "
             "{ 2, \"B\"})",
             3) == "B|0x1");
}

TEST_CASE("tracepoint_names: texts that are too long, deep or cut") {
  std::string many = "__print_symbolic(REC->x";
  for (std::size_t i = 0; i < logformat::kMaxNumberNames + 1; ++i) {
    many += ", {" + std::to_string(i) + ", \"A\"}";
  }
  CHECK(HasNone(many + ")"));
  CHECK(HasNone("__print_symbolic(REC->x, {1, \"" +
                std::string(logformat::kMaxNumberName + 1, 'a') + "\"})"));
  const std::string deep(100000, '(');
  CHECK(HasNone("__print_symbolic(REC->x, {" + deep + "1, \"A\"})"));
  CHECK(HasNone("__print_symbolic(" + deep + "REC->x, {1, \"A\"})"));
  CHECK(HasNone("__print_symbolic(REC->x, {" + std::string(100000, '~') +
                "1, \"A\"})"));
  CHECK(NamesOf("").empty());
  const std::string text =
      "print fmt: \"x\", (REC->f & 3) ? __print_flags(REC->f & 3, \"|\", {(( "
      "u32)1 << 0), \"A\"}, {~(4U | 9), \"B\" }) : \"none\", "
      "__print_symbolic((REC->g >> 3 & 7), { -1 + 2 * 2 ^ 1, \"C\" })";
  CHECK(NumberText(*NamesOf(text).at("f"), 1) == "A");
  CHECK(NumberText(*NamesOf(text).at("g"), 2 << 3) == "C");
  std::mt19937 random(45);
  for (std::size_t bytes = 0; bytes < text.size(); ++bytes) {
    NamesOf(text.substr(0, bytes));
    std::string other = text;
    for (int i = 0; i < 3; ++i) {
      other[random() % other.size()] = text[random() % text.size()];
    }
    for (const auto& [field, names] : NamesOf(other)) {
      if (names == nullptr) continue;
      CAPTURE(other);
      const auto again = logformat::ParseNumberNames(NumberNamesText(*names));
      REQUIRE(again != nullptr);
      CHECK(NumberNamesText(*again) == NumberNamesText(*names));
    }
  }
}

}  // namespace
}  // namespace countrace::runtime
