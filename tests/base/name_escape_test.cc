#include "base/text/name_escape.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>

#include "base/text/utf8.h"

namespace countrace::base {
namespace {

// True if no code point is left that a terminal acts on.
bool IsSafe(std::string_view text, bool newlines) {
  while (!text.empty()) {
    const CodePoint point = DecodeFirst(text);
    if (point.bytes == 0) return false;
    if (IsUnsafeToPrint(point.value) && !(newlines && point.value == '\n')) {
      return false;
    }
    text.remove_prefix(point.bytes);
  }
  return true;
}

TEST_CASE("name_escape: plain text and UTF-8 stay as they are",
          "[base][name_escape]") {
  CHECK(EscapeName("server:handle name-1") == "server:handle name-1");
  CHECK(EscapeName("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\x8e") ==
        "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\x8e");
}

TEST_CASE("name_escape: what acts on a terminal becomes visible",
          "[base][name_escape]") {
  CHECK(EscapeName("a\nb\x1b[0m") == "a\\x0ab\\x1b[0m");
  CHECK(EscapeName("a\rb\tc\x7f") == "a\\x0db\\x09c\\x7f");
  CHECK(EscapeName(std::string("nul\0", 4)) == "nul\\x00");
  CHECK(EscapeName("\xc2\x9b"
                   "31m") == "\\u{009b}31m");             // C1 CSI
  CHECK(EscapeName("\xc2\xad") == "\\u{00ad}");           // soft hyphen
  CHECK(EscapeName("\xe2\x80\xae") == "\\u{202e}");       // RLO
  CHECK(EscapeName("\xe2\x81\xa6") == "\\u{2066}");       // isolate
  CHECK(EscapeName("\xe2\x81\xaa") == "\\u{206a}");       // deprecated control
  CHECK(EscapeName("\xef\xbf\xb9") == "\\u{fff9}");       // annotation
  CHECK(EscapeName("\xf3\xa0\x81\x81") == "\\u{e0041}");  // tag
}

TEST_CASE("name_escape: bytes that are not UTF-8 become visible",
          "[base][name_escape]") {
  CHECK(EscapeName("\xff\xc3") == "\\xff\\xc3");
  CHECK(EscapeName("\xc0\xaf") == "\\xc0\\xaf");           // overlong
  CHECK(EscapeName("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // surrogate
  CHECK(EscapeName("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
  CHECK(EscapeName("\xe2\x82") == "\\xe2\\x82");  // cut short
}

TEST_CASE("name_escape: an escape in the name is not one of ours",
          "[base][name_escape]") {
  CHECK(EscapeName("\\x1b") == "\\\\x1b");
  CHECK(EscapeName("\\x1b") != EscapeName("\x1b"));
}

TEST_CASE("name_escape: a message keeps its lines and escaped names",
          "[base][name_escape]") {
  CHECK(EscapeLines("two\nlines") == "two\nlines");
  CHECK(EscapeLines("a\rb\x1b[2J") == "a\\x0db\\x1b[2J");
  const std::string name = "x\n\x1b\\ \xff";
  CHECK(EscapeLines("no `" + EscapeName(name) + "`") ==
        "no `x\\x0a\\x1b\\\\ \\xff`");
}

TEST_CASE("name_escape: random bytes become safe text",
          "[base][name_escape][property]") {
  std::mt19937 random(
      GENERATE(take(50, Catch::Generators::random(0, 1 << 30))));
  std::string bytes(64, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  CAPTURE(bytes);
  CHECK(IsSafe(EscapeName(bytes), false));
  const std::string lines = EscapeLines(bytes);
  CHECK(IsSafe(lines, true));
  CHECK(EscapeLines(lines) == lines);  // nothing is left to escape
}

TEST_CASE("name_escape: columns are code points", "[base][name_escape]") {
  CHECK(DisplayColumns("") == 0);
  CHECK(DisplayColumns("gr\xc3\xbc\xc3\x9f") == 4);
}

}  // namespace
}  // namespace countrace::base
