// The conditions of a dump rule against their definitions, written differently.
#include "runtime/rules/dump_rule_eval.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "countrace/hook_site.h"
#include "runtime/rules/dump_rule_text.h"
#include "runtime/rules/open_segments.h"

namespace countrace::runtime {
namespace {

static_assert(COUNTRACE_RULE_INT == +COUNTRACE_TYPE_INT &&
              COUNTRACE_RULE_UNSIGNED == +COUNTRACE_TYPE_UNSIGNED &&
              COUNTRACE_RULE_DOUBLE == +COUNTRACE_TYPE_DOUBLE &&
              COUNTRACE_RULE_STRING == +COUNTRACE_TYPE_STRING &&
              COUNTRACE_RULE_POINTER == +COUNTRACE_TYPE_POINTER);

using Wide = __int128;  // represents every integer of both signs

Wide AsInteger(unsigned char type, std::uint64_t bits) {
  return type == COUNTRACE_RULE_INT ? Wide{static_cast<std::int64_t>(bits)}
                                    : Wide{bits};
}

template <typename T>
bool Compare(unsigned comparison, T a, T b) {
  switch (comparison) {
    case COUNTRACE_EQUAL:
      return a == b;
    case COUNTRACE_NOT_EQUAL:
      return a != b;
    case COUNTRACE_LESS:
      return a < b;
    case COUNTRACE_LESS_OR_EQUAL:
      return a <= b;
    case COUNTRACE_GREATER:
      return a > b;
    default:
      return a >= b;
  }
}

bool Holds(const countrace_predicate& predicate,
           const countrace_rule_value& value) {
  return countrace_predicate_holds(&predicate, &value) != 0;
}

}  // namespace

TEST_CASE("dump rules: integers of both signs compare as numbers do") {
  std::mt19937_64 random(22);
  for (int i = 0; i < 100000; ++i) {
    const auto number = [&] {
      const std::uint64_t small = random() % 5 - 2;  // -2 to 2, wrapped
      return random() % 2 == 0 ? small : random() >> random() % 64;
    };
    countrace_rule_value value{};
    value.type = random() % 3 == 0   ? COUNTRACE_RULE_INT
                 : random() % 2 == 0 ? COUNTRACE_RULE_UNSIGNED
                                     : COUNTRACE_RULE_POINTER;
    value.bits = number();
    countrace_predicate predicate{};
    predicate.comparison = static_cast<unsigned char>(1 + random() % 6);
    predicate.bits = number();
    const bool negative = (predicate.bits >> 63) != 0 && random() % 2 == 0;
    predicate.constant =
        negative ? COUNTRACE_CONSTANT_NEGATIVE : COUNTRACE_CONSTANT_UNSIGNED;
    const Wide constant =
        AsInteger(negative ? COUNTRACE_RULE_INT : COUNTRACE_RULE_UNSIGNED,
                  predicate.bits);
    CAPTURE(value.type, value.bits, predicate.comparison, predicate.bits);
    REQUIRE(Holds(predicate, value) ==
            Compare(predicate.comparison, AsInteger(value.type, value.bits),
                    constant));
    predicate.comparison = COUNTRACE_HAS_BITS;
    REQUIRE(Holds(predicate, value) == ((value.bits & predicate.bits) != 0));
  }
}

TEST_CASE("dump rules: doubles compare as doubles, NaN only as unequal") {
  std::mt19937_64 random(23);
  for (int i = 0; i < 100000; ++i) {
    const double a = random() % 3 == 0 ? static_cast<double>(random() % 4)
                                       : std::bit_cast<double>(random());
    const double b = random() % 3 == 0 ? static_cast<double>(random() % 4)
                                       : std::bit_cast<double>(random());
    if (b != b) continue;  // no rule has such a constant
    countrace_rule_value value{};
    value.type = COUNTRACE_RULE_DOUBLE;
    value.bits = std::bit_cast<std::uint64_t>(a);
    countrace_predicate predicate{};
    predicate.comparison = static_cast<unsigned char>(1 + random() % 6);
    predicate.constant = COUNTRACE_CONSTANT_DOUBLE;
    predicate.bits = std::bit_cast<std::uint64_t>(b);
    CAPTURE(a, b, predicate.comparison);
    REQUIRE(Holds(predicate, value) == Compare(predicate.comparison, a, b));
  }
}

TEST_CASE("dump rules: text equals text, and is never a number") {
  std::mt19937_64 random(24);
  for (int i = 0; i < 100000; ++i) {
    const auto text = [&] {
      return std::string(random() % 35, random() % 2 == 0 ? 'a' : 'b');
    };
    const std::string a = text();
    const std::string b = text().substr(0, COUNTRACE_PREDICATE_TEXT_BYTES);
    const countrace_rule_value value = {COUNTRACE_RULE_STRING, 0, a.data(),
                                        a.size()};
    countrace_predicate predicate{};
    predicate.constant = COUNTRACE_CONSTANT_TEXT;
    predicate.comparison = COUNTRACE_EQUAL;
    predicate.text_bytes = static_cast<unsigned char>(b.size());
    std::memcpy(predicate.text, b.data(), b.size());
    REQUIRE(Holds(predicate, value) == (a == b));
    predicate.comparison = COUNTRACE_NOT_EQUAL;
    REQUIRE(Holds(predicate, value) == (a != b));
    predicate.constant = COUNTRACE_CONSTANT_UNSIGNED;
    REQUIRE_FALSE(Holds(predicate, value));
  }
}

TEST_CASE("dump rules: dumps by time keep their distance and miss none") {
  std::mt19937_64 random(25);
  for (int round = 0; round < 300; ++round) {
    DumpRule rule{};
    rule.min_interval_ns = random() % 2 == 0 ? 0 : 1 + random() % 1000;
    rule.every_ticks = random() % 2 == 0 ? 0 : 1 + random() % 5;
    if (countrace_rule_has_time(&rule) == 0) continue;
    const std::uint64_t tick_ns = 1 + random() % 300;
    const std::uint64_t grid_ns = rule.every_ticks * tick_ns;
    std::uint64_t last_ns = 0;
    std::uint64_t now_ns = 1;
    for (int i = 0; i < 500; ++i) {
      now_ns += random() % 400;
      const bool due =
          countrace_rule_is_due(&rule, last_ns, now_ns, tick_ns) != 0;
      const bool far = last_ns == 0 || now_ns - last_ns >= rule.min_interval_ns;
      const bool next_tick =
          last_ns == 0 || grid_ns == 0 || now_ns / grid_ns != last_ns / grid_ns;
      REQUIRE(due == (far && next_tick));
      if (due) last_ns = now_ns;
    }
  }
}

TEST_CASE("dump rules: an exit answers as its enter did, whatever is left") {
  std::mt19937_64 random(26);
  const auto open = std::make_unique<OpenSegments>();
  std::vector<std::pair<std::uint32_t, bool>> model;
  for (int i = 0; i < 200000; ++i) {
    const auto hook = static_cast<std::uint32_t>(1 + random() % 6);
    // Long climbs and descents, beyond the depth that is stored.
    const bool climb = (i / 9000) % 2 == 0;
    if (random() % 10 < (climb ? 9u : 1u)) {
      const bool dump = open->has_room() && random() % 2 == 0;
      open->Enter(hook, dump);
      model.emplace_back(hook, dump);
      continue;
    }
    if (model.size() > OpenSegments::kMaxDepth) {
      model.pop_back();  // balanced, as programs that deep are
      REQUIRE_FALSE(open->Exit(hook));
      continue;
    }
    bool expected = false;
    for (std::size_t at = model.size(); at > 0; --at) {
      if (model[at - 1].first != hook) continue;
      expected = model[at - 1].second;
      model.resize(at - 1);
      break;
    }
    REQUIRE(open->Exit(hook) == expected);
  }
}

}  // namespace countrace::runtime
