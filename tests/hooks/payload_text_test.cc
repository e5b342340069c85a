// Payloads as text for LTTng.
#include "hooks/lttng/payload_text.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace {

struct Value {
  std::uint8_t type;
  countrace_value value;
};
Value Int(std::int64_t v) {
  Value out{COUNTRACE_TYPE_INT, {}};
  out.value.as.i = v;
  return out;
}
Value Unsigned(std::uint64_t v) {
  Value out{COUNTRACE_TYPE_UNSIGNED, {}};
  out.value.as.u = v;
  return out;
}
Value Double(double v) {
  Value out{COUNTRACE_TYPE_DOUBLE, {}};
  out.value.as.d = v;
  return out;
}
Value String(const std::string& v) {
  Value out{COUNTRACE_TYPE_STRING, {}};
  out.value.as.s = v.data();
  out.value.bytes = v.size();
  return out;
}

struct Payload {
  countrace_hook_site site{};
  countrace_value values[COUNTRACE_MAX_PAYLOAD_VALUES]{};
  explicit Payload(std::initializer_list<Value> list) {
    for (const Value& v : list) {
      site.types[site.count] = v.type;
      values[site.count++] = v.value;
    }
  }
  std::string Text() const {
    char text[COUNTRACE_PAYLOAD_TEXT_BYTES];
    std::memset(text, '!', sizeof(text));
    countrace_payload_text(&site, values, text);
    REQUIRE(std::memchr(text, '\0', sizeof(text)) != nullptr);
    return text;
  }
  std::vector<std::int64_t> Integers() const {
    std::int64_t integers[COUNTRACE_MAX_PAYLOAD_VALUES];
    countrace_payload_integers(&site, values, integers);
    return {integers, integers + site.count};
  }
};

TEST_CASE("payload text: limits of integers") {
  const Payload payload({Int(std::numeric_limits<std::int64_t>::min()), Int(0),
                         Unsigned(std::numeric_limits<std::uint64_t>::max())});
  CHECK(payload.Text() == "(-9223372036854775808, 0, 18446744073709551615)");
  CHECK(payload.Integers() ==
        std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min(), 0,
                                  -1});
  CHECK(Payload({}).Text() == "()");
}

TEST_CASE("payload text: floating point gives the number back") {
  std::mt19937_64 random(20260101);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t bits = random();
    double value;
    std::memcpy(&value, &bits, sizeof(value));
    if (!std::isfinite(value)) continue;
    const std::string text = Payload({Double(value)}).Text();
    REQUIRE(text.size() > 2);
    CHECK(std::strtod(text.c_str() + 1, nullptr) == value);
  }
  CHECK(Payload({Double(0.1), Double(-0.0), Double(1e22)}).Text() ==
        "(0.1, -0, 1e+22)");
}

TEST_CASE("payload text: what is no number, and too large for an integer") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Payload payload({Double(std::nan("")), Double(kInfinity),
                         Double(-kInfinity), Double(9.3e18), Double(-1.9)});
  CHECK(payload.Text() == "(nan, inf, -inf, 9.3e+18, -1.9)");
  CHECK(payload.Integers() ==
        std::vector<std::int64_t>{0, std::numeric_limits<std::int64_t>::max(),
                                  std::numeric_limits<std::int64_t>::min(),
                                  std::numeric_limits<std::int64_t>::max(),
                                  -1});
}

TEST_CASE("payload text: strings are quoted and cut, never mistaken") {
  const std::string nul("a\0b", 3);
  CHECK(Payload({String("a\", \"b"), String("\\"), String(nul)}).Text() ==
        R"(("a\", \"b", "\\", "a\x00b"))");
  const std::string text(2000, 'x');
  CHECK(Payload({String(text)}).Text() ==
        "(\"" + std::string(511, 'x') + "\")");
  CHECK(Payload({String(text)}).Integers() == std::vector<std::int64_t>{2000});
}

TEST_CASE("payload text: of any length, it ends within its buffer") {
  for (std::size_t length = 0; length <= 511; ++length) {
    const std::string text(length, '"');  // two characters each
    const std::string got =
        Payload({String(text), String(text), Int(-1)}).Text();
    REQUIRE(got.size() < COUNTRACE_PAYLOAD_TEXT_BYTES);
    const std::size_t whole = 4 * length + 4 + 2 + 2 + 4;
    if (got.find("...") == std::string::npos) {
      CHECK(got.size() == whole);
      CHECK(got.substr(got.size() - 5) == ", -1)");
    } else {
      CHECK(whole > COUNTRACE_PAYLOAD_TEXT_BYTES - 8);
      CHECK(got.substr(got.size() - 4) == "...)");
    }
  }
}

}  // namespace
