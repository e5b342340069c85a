#include "cli/escape_text.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

namespace countrace::cli {
namespace {

TEST_CASE("escape_text: plain text and UTF-8 stay as they are",
          "[cli][escape_text]") {
  CHECK(EscapeText("server:handle") == "server:handle");
  CHECK(EscapeText("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\x8e") ==
        "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\x8e");
  CHECK(EscapeText("two\nlines") == "two\nlines");
}

TEST_CASE("escape_text: what drives a terminal becomes visible",
          "[cli][escape_text]") {
  CHECK(EscapeText("\x1b[31m") == "\\x1b[31m");
  CHECK(EscapeText("a\rb\tc\x7f") == "a\\x0db\\x09c\\x7f");
  CHECK(EscapeText(std::string("nul\0", 4)) == "nul\\x00");
  CHECK(EscapeText("\xc2\x9b"
                   "31m") == "\\xc2\\x9b31m");             // C1 CSI
  CHECK(EscapeText("\xe2\x80\xae") == "\\xe2\\x80\\xae");  // RLO
  CHECK(EscapeText("\xe2\x81\xa6") == "\\xe2\\x81\\xa6");  // isolate
}

TEST_CASE("escape_text: bytes that are not UTF-8 become visible",
          "[cli][escape_text]") {
  CHECK(EscapeText("\xff") == "\\xff");
  CHECK(EscapeText("\xc0\xaf") == "\\xc0\\xaf");           // overlong
  CHECK(EscapeText("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // surrogate
  CHECK(EscapeText("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
  CHECK(EscapeText("\xe2\x82") == "\\xe2\\x82");  // cut short
}

TEST_CASE("escape_text: random bytes never leave a control character",
          "[cli][escape_text][property]") {
  std::mt19937 random(
      GENERATE(take(50, Catch::Generators::random(0, 1 << 30))));
  std::string bytes(64, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  CAPTURE(bytes);
  const std::string escaped = EscapeText(bytes);
  CHECK(std::none_of(escaped.begin(), escaped.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f;
  }));
  CHECK(EscapeText(escaped) == escaped);  // nothing is left to escape
}

TEST_CASE("escape_text: a JSON string reads back as the text it was made from",
          "[cli][escape_text][property]") {
  const std::string text =
      GENERATE("", "plain", "quote \" backslash \\ slash /", "tab\tnewline\n",
               "\x1b[31m", "\xe2\x80\xae mark", "\xf0\x9f\x90\x8e");
  CAPTURE(text);
  CHECK(nlohmann::json::parse(JsonString(text)).get<std::string>() == text);
}

TEST_CASE("escape_text: a JSON string is valid whatever the bytes are",
          "[cli][escape_text][property]") {
  std::mt19937 random(
      GENERATE(take(50, Catch::Generators::random(0, 1 << 30))));
  std::string bytes(64, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  CHECK_NOTHROW(nlohmann::json::parse(JsonString(bytes)));
}

TEST_CASE("escape_text: CSV quotes what would break a row",
          "[cli][escape_text]") {
  CHECK(CsvField("plain") == "plain");
  CHECK(CsvField("a,b") == "\"a,b\"");
  CHECK(CsvField("say \"hi\"") == "\"say \"\"hi\"\"\"");
  CHECK(CsvField("two\nlines") == "\"two\nlines\"");
  CHECK(CsvField("\x1b[0m") == "\\x1b[0m");
}

}  // namespace
}  // namespace countrace::cli
