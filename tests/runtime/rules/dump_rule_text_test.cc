// Dump rules as text: a printed rule reads back as the same rule, errors are
// reported at their place, and nothing crashes.
#include "runtime/rules/dump_rule_text.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "runtime/rules/dump_rule_literal.h"

namespace countrace::runtime {
namespace {

using Random = std::mt19937_64;

std::uint64_t Below(Random& random, std::uint64_t bound) {
  return random() % bound;
}

// A number of any magnitude, the bounds included.
std::uint64_t AnyNumber(Random& random) {
  if (Below(random, 8) == 0) return ~std::uint64_t{0} - Below(random, 2);
  return random() >> Below(random, 64);
}

template <std::size_t N>
void RandomText(Random& random, std::string_view alphabet, std::size_t bytes,
                char (&out)[N]) {
  for (std::size_t i = 0; i < bytes; ++i) {
    out[i] = alphabet[Below(random, alphabet.size())];
  }
}

countrace_predicate RandomPredicate(Random& random) {
  countrace_predicate predicate{};
  predicate.argument = static_cast<unsigned char>(Below(random, 6));
  predicate.constant = static_cast<unsigned char>(1 + Below(random, 4));
  const bool is_text = predicate.constant == COUNTRACE_CONSTANT_TEXT;
  const bool has_bits = predicate.constant == COUNTRACE_CONSTANT_UNSIGNED ||
                        predicate.constant == COUNTRACE_CONSTANT_NEGATIVE;
  predicate.comparison =
      static_cast<unsigned char>(1 + Below(random, is_text    ? 2
                                                   : has_bits ? 7
                                                              : 6));
  if (is_text) {
    predicate.text_bytes = static_cast<unsigned char>(Below(random, 33));
    RandomText(random, "ab \t\"\\*/=andif", predicate.text_bytes,
               predicate.text);
  } else if (predicate.constant == COUNTRACE_CONSTANT_DOUBLE) {
    double value = 0;
    do {
      value = std::bit_cast<double>(random());
    } while (!std::isfinite(value));
    if (Below(random, 2) == 0) value = static_cast<double>(Below(random, 99));
    predicate.bits = std::bit_cast<std::uint64_t>(value);
  } else {
    predicate.bits = AnyNumber(random);
    if (predicate.constant == COUNTRACE_CONSTANT_NEGATIVE) {
      predicate.bits |= std::uint64_t{1} << 63;
    }
  }
  return predicate;
}

// Any rule that a text can express.
DumpRule RandomRule(Random& random) {
  for (;;) {
    DumpRule rule{};
    if (Below(random, 3) == 0) {
      std::strcpy(rule.glob, "*");
    } else {
      RandomText(random, "abz09_.-*?[]!:", 1 + Below(random, 20), rule.glob);
      if (std::strpbrk(rule.glob, ":*") == nullptr) continue;
    }
    rule.never = Below(random, 8) == 0 ? 1 : 0;
    if (rule.never == 0) {
      rule.predicate_count = static_cast<unsigned>(Below(random, 5));
      for (unsigned i = 0; i < rule.predicate_count; ++i) {
        rule.predicates[i] = RandomPredicate(random);
      }
      const std::uint64_t caller = Below(random, 4);
      if (caller >= 2) {
        std::strcpy(rule.caller, "lib-x+y.so");
        rule.caller_end = std::numeric_limits<std::uint64_t>::max();
      }
      if (caller == 1 || caller == 3) {
        rule.caller_begin = AnyNumber(random) >> 1;
        rule.caller_end = rule.caller_begin + 1 + Below(random, 9999);
      }
      if (Below(random, 2) == 0) rule.every_n = 1 + Below(random, 1000000000);
      if (Below(random, 2) == 0) {
        rule.min_interval_ns = 1 + (AnyNumber(random) >> 1) / 2;
      }
      if (Below(random, 2) == 0) rule.every_ticks = 1 + Below(random, 1000);
    }
    const std::string text = PrintDumpRule(rule);
    if (text.size() >= sizeof(rule.text)) continue;
    std::memcpy(rule.text, text.data(), text.size());
    return rule;
  }
}

}  // namespace

TEST_CASE("dump rules: parsing what was printed gives the same rule") {
  Random random(20);
  for (int i = 0; i < 20000; ++i) {
    const DumpRule rule = RandomRule(random);
    const auto parsed = ParseDumpRule(rule.text);
    INFO(rule.text);
    INFO(parsed.status().message());
    REQUIRE(parsed.ok());
    // Flat and without padding: equal rules are equal bytes.
    REQUIRE(std::memcmp(&rule, &*parsed, sizeof(rule)) == 0);
    REQUIRE(PrintDumpRule(*parsed) == rule.text);
  }
}

TEST_CASE("dump rules: clauses may stand in any order, between any blanks") {
  const auto one = ParseDumpRule("a:b every 3 at most every 10ms if arg0 > 1");
  const auto other =
      ParseDumpRule("  a:b\tif arg0>0x1  at  most every 10000us every 3 ");
  REQUIRE((one.ok() && other.ok()));
  CHECK(std::memcmp(&*one, &*other, sizeof(*one)) == 0);
  CHECK(one->text == std::string("a:b if arg0 > 1 every 3 at most every 10ms"));
  const auto kernel = ParseDumpRule("a:b if ret<-1 and number==0x10");
  REQUIRE(kernel.ok());
  CHECK(kernel->predicates[0].argument == COUNTRACE_ARGUMENT_RET);
  CHECK(kernel->predicates[1].argument == COUNTRACE_ARGUMENT_NUMBER);
  CHECK(kernel->text == std::string("a:b if ret < -1 and number == 16"));
}

TEST_CASE("dump rules: garbage is refused, in words, and never crashes") {
  Random random(21);
  const std::string_view words[] = {
      "every",  "at",      "most",  "if",          "and",  "from",
      "always", "never",   "ticks", "arg0",        "arg9", "==",
      "<",      "&",       "\"x\"", "10ms",        "4096", "-1",
      "1.5",    "0x1-0x2", "a:*",   "lib+0x1-0x2", "\"",   "\\"};
  std::uint64_t accepted = 0;
  for (int i = 0; i < 50000; ++i) {
    std::string text;
    if (Below(random, 2) == 0) {
      const std::uint64_t count = Below(random, 12);
      for (std::uint64_t j = 0; j < count; ++j) {
        text += words[Below(random, std::size(words))];
        if (Below(random, 5) != 0) text += ' ';
      }
    } else {
      text = RandomRule(random).text;
      const std::uint64_t edits = 1 + Below(random, 4);
      for (std::uint64_t j = 0; j < edits && !text.empty(); ++j) {
        const std::size_t at = Below(random, text.size());
        if (Below(random, 2) == 0) {
          text[at] = static_cast<char>(random());
        } else {
          text.erase(at, 1 + Below(random, 5));
        }
      }
    }
    const auto rule = ParseDumpRule(text);
    if (rule.ok()) {
      ++accepted;
      const auto again = ParseDumpRule(rule->text);
      REQUIRE(again.ok());
      REQUIRE(std::memcmp(&*rule, &*again, sizeof(*rule)) == 0);
      continue;
    }
    const std::string message(rule.status().message());
    REQUIRE(message.find("--dump:1:") != std::string::npos);
    for (const char c : message) {
      const auto byte = static_cast<unsigned char>(c);
      REQUIRE((c == '\n' || (byte >= ' ' && byte != 0x7f)));
    }
  }
  CHECK(accepted > 0);
}

TEST_CASE("dump rules: an error names the column and what may stand there") {
  struct Case {
    const char* text;
    const char* where;
    const char* remedy;
  };
  const Case wrong = GENERATE(values<Case>({
      {"", "--dump:1:1:", "glob"},
      {"server", "--dump:1:1:", "server:*"},
      {"a:b,c:d", "--dump:1:1:", "once for each"},
      {"a:b evry 100", "--dump:1:5:", "every"},
      {"a:b every", "--dump:1:10:", "a number from 1"},
      {"a:b every 0", "--dump:1:11:", "a number from 1"},
      {"a:b every 10ms", "--dump:1:11:", "`at most every 10ms`"},
      {"a:b every 3 every 4", "--dump:1:13:", "twice"},
      {"a:b at least", "--dump:1:5:", "at most every"},
      {"a:b at most every 3", "--dump:1:19:", "unit"},
      {"a:b at most every 300000000h", "--dump:1:19:", "292 years"},
      {"a:b if", "--dump:1:7:", "arg0 to arg5"},
      {"a:b if arg6 > 1", "--dump:1:8:", "arg0 to arg5"},
      {"a:b if retired > 1", "--dump:1:8:", "ret"},
      {"a:b if ret 1", "--dump:1:12:", "=="},
      {"a:b if ret > - 1", "--dump:1:14:", "constant"},
      {"a:b if ret > 1,", "--dump:1:15:", "blank"},
      {"a:b if Ret > 1", "--dump:1:8:", "ret"},
      {"a:b if arg0 = 1", "--dump:1:13:", "=="},
      {"a:b if arg0 > x", "--dump:1:15:", "constant"},
      {"a:b if arg0 > 18446744073709551616", "--dump:1:15:", "64 bits"},
      {"a:b if arg0 < \"x\"", "--dump:1:15:", "== or !="},
      {"a:b if arg0 & 1.5", "--dump:1:15:", "bits"},
      {"a:b if arg0 == \"x", "--dump:1:16:", "quotation mark"},
      {"a:b if arg0 == 1 if arg1 == 1", "--dump:1:18:", "`and`"},
      {"a:b from 0x5-0x5", "--dump:1:10:", "empty: begin=0x5, end=0x5"},
      {"a:b from /lib/x.so", "--dump:1:10:", "file name"},
      {"a:b always every 3", "--dump:1:12:", "nothing may follow"},
      {"a:b every 3 never", "--dump:1:13:", "alone"},
      {"a:b \x01", "--dump:1:5:", "ASCII"},
  }));
  const auto rule = ParseDumpRule(wrong.text);
  INFO(wrong.text);
  REQUIRE_FALSE(rule.ok());
  const std::string message(rule.status().message());
  INFO(message);
  CHECK(message.find(wrong.where) != std::string::npos);
  CHECK(message.find(wrong.remedy) != std::string::npos);
}

TEST_CASE("dump rules: a name is the argument that it is in the hooks") {
  std::string asked;
  const FindArgument find =
      [&](std::string_view glob,
          std::string_view name) -> absl::StatusOr<unsigned char> {
    asked = std::string(glob) + " " + std::string(name);
    if (name == "count") return static_cast<unsigned char>(2);
    return absl::InvalidArgumentError("there are fd, count");
  };
  const auto named = ParseDumpRule("a:b if arg0 == 1 and count > 5", find);
  REQUIRE(named.ok());
  CHECK(asked == "a:b count");
  CHECK(PrintDumpRule(*named) == "a:b if arg0 == 1 and arg2 > 5");
  // What every hook has is not asked for.
  asked.clear();
  CHECK(ParseDumpRule("a:b if ret < 0 and number == 1", find).ok());
  CHECK(asked.empty());
  const auto wrong = ParseDumpRule("a:b if size > 5", find);
  REQUIRE_FALSE(wrong.ok());
  const std::string message(wrong.status().message());
  CHECK(message.find("--dump:1:8:") != std::string::npos);
  CHECK(message.find("there are fd, count") != std::string::npos);
  CHECK(ParseUnboundDumpRules({"a:b if size > 5"}).ok());
  CHECK_FALSE(ParseUnboundDumpRules({"a:b if > 5"}).ok());
}

TEST_CASE("dump rules: the first rule whose glob matches decides") {
  const auto rules = ParseDumpRules({"a:x never", "a:* every 2", "b:*"});
  REQUIRE(rules.ok());
  CHECK(FindDumpRule(*rules, "a:x") == 0);
  CHECK(FindDumpRule(*rules, "a:y") == 1);
  CHECK(FindDumpRule(*rules, "b:x") == 2);
  CHECK(FindDumpRule(*rules, "c:x") == -1);
  // A rule that can never apply is an error, and so are too many rules.
  CHECK_FALSE(ParseDumpRules({"every 2", "a:b"}).ok());
  CHECK_FALSE(ParseDumpRules({"a:b", "a:b every 2"}).ok());
  std::vector<std::string> many;
  for (int i = 0; i <= COUNTRACE_MAX_DUMP_RULES; ++i) {
    many.push_back("a:h" + std::to_string(i));
  }
  CHECK_FALSE(ParseDumpRules(many).ok());
  many.pop_back();
  CHECK(ParseDumpRules(many).ok());
}

}  // namespace countrace::runtime
