// Text of names and strings out of a trace: readable, and harmless.
#include "logformat/read/script_render.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <random>

#include "logformat/read/script_json.h"

namespace countrace::logformat {
namespace {

std::string Escaped(std::string_view text, bool quoted) {
  std::string out;
  AppendEscaped(text, quoted, out);
  return out;
}

TEST_CASE("script_render: text stays readable", "[logformat][script]") {
  CHECK(Escaped("plain /path?a=1", true) == "plain /path?a=1");
  CHECK(Escaped("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", true) ==
        "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
  CHECK(Escaped("a\"b\\c", true) == "a\\\"b\\\\c");
  CHECK(Escaped("a\"b\\c", false) == "a\"b\\c");
}

TEST_CASE("script_render: nothing that steers a terminal gets through",
          "[logformat][script]") {
  CHECK(Escaped("\x1b[31m\n\t\x01\x7f", false) == "\\e[31m\\n\\t\\x01\\x7f");
  CHECK(Escaped("\xc2\x9b", false) == "\\xc2\\x9b");           // C1: CSI
  CHECK(Escaped("\xe2\x80\xae", false) == "\\xe2\\x80\\xae");  // U+202E
  CHECK(Escaped("\xff\xc0\xaf\xed\xa0\x80\xe2\x82", false) ==
        "\\xff\\xc0\\xaf\\xed\\xa0\\x80\\xe2\\x82");  // not UTF-8
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string text(random() % 20, '\0');
    for (char& c : text) c = static_cast<char>(random());
    for (const char c : Escaped(text, round % 2 == 0)) {
      REQUIRE(static_cast<unsigned char>(c) >= 0x20);
      REQUIRE(c != 0x7f);
    }
  }
}

TEST_CASE("script_json: a string is ASCII, and the same after parsing",
          "[logformat][script]") {
  const auto quoted = [](const std::string& text) {
    std::string out;
    AppendJsonString(text, out);
    return out;
  };
  CHECK(quoted("a\"b\\c\n") == R"("a\"b\\c\u000a")");
  CHECK(quoted("\xe2\x82\xac\xf0\x9f\x98\x80") == R"("\u20ac\ud83d\ude00")");
  CHECK(quoted("x\xff\xe2\x82") == R"("x\ufffd\ufffd\ufffd")");
  std::mt19937 random(2);
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (unsigned i = random() % 8; i-- > 0;) {
      if (random() % 2 == 0) {
        text += static_cast<char>(random() % 128);
      } else {
        text += random() % 2 == 0 ? "\xe2\x80\xae" : "\xf3\xa0\x81\x81";
      }
    }
    const std::string out = quoted(text);
    REQUIRE(nlohmann::json::parse(out).get<std::string>() == text);
    for (const char c : out) REQUIRE((c >= ' ' && c <= '~'));
  }
}

}  // namespace
}  // namespace countrace::logformat
