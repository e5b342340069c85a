// Triggers as text: a printed trigger reads back as the same trigger, errors
// are reported at their place, and nothing crashes.
#include "runtime/rules/trigger_text.h"

#include <signal.h>

#include <catch2/catch.hpp>
#include <random>
#include <string>

namespace countrace::runtime {
namespace {

using Random = std::mt19937_64;

std::uint64_t AnyDuration(Random& random) {
  return (random() >> (1 + random() % 63)) + 1;
}

// Any trigger that a text can express.
Trigger RandomTrigger(Random& random) {
  Trigger trigger;
  trigger.kind = static_cast<TriggerKind>(random() % 4);
  if (trigger.kind == TriggerKind::kSignal) {
    constexpr int kNumbers[] = {SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH};
    trigger.signal = random() % 2 == 0
                         ? kNumbers[random() % 4]
                         : SIGRTMIN + static_cast<int>(random() % 20);
  } else if (trigger.kind == TriggerKind::kTime) {
    trigger.every_ns = AnyDuration(random);
  } else {
    constexpr std::string_view kAlphabet = "abz09_.-*?[]!:>";
    trigger.glob = random() % 3 == 0 ? "*" : ":";
    for (std::uint64_t i = random() % 20; i > 0; --i) {
      trigger.glob += kAlphabet[random() % kAlphabet.size()];
    }
  }
  if (trigger.kind == TriggerKind::kSegment) {
    trigger.longer_than_ns = AnyDuration(random);
  }
  const bool has_values = trigger.kind == TriggerKind::kHook ||
                          trigger.kind == TriggerKind::kSegment;
  if (has_values && random() % 3 == 0) {
    for (std::uint64_t i = random() % 4 + 1; i > 0; --i) {
      Trigger::Comparison comparison{
          random() % 2 == 0 ? "count" : "arg" + std::to_string(random() % 6),
          {}};
      comparison.predicate.comparison =
          static_cast<unsigned char>(1 + random() % 7);
      comparison.predicate.constant = COUNTRACE_CONSTANT_UNSIGNED;
      comparison.predicate.bits = random();
      trigger.values.push_back(comparison);
    }
  }
  if (trigger.kind == TriggerKind::kHook && random() % 4 == 0) {
    bool* const actions[] = {&trigger.start, &trigger.pause, &trigger.resume};
    *actions[random() % 3] = true;
    return trigger;
  }
  if (random() % 2 == 0) trigger.after_ns = AnyDuration(random);
  if (random() % 3 == 0) {
    trigger.stop = true;
  } else {
    if (random() % 2 == 0) trigger.min_interval_ns = AnyDuration(random);
    if (random() % 2 == 0) trigger.limit = 1 + random() % 1'000'000'000;
  }
  return trigger;
}

void RequireSame(const Trigger& a, const Trigger& b) {
  REQUIRE(a.kind == b.kind);
  REQUIRE(a.glob == b.glob);
  REQUIRE(a.longer_than_ns == b.longer_than_ns);
  REQUIRE(a.signal == b.signal);
  REQUIRE(a.every_ns == b.every_ns);
  REQUIRE(a.after_ns == b.after_ns);
  REQUIRE(a.min_interval_ns == b.min_interval_ns);
  REQUIRE(a.limit == b.limit);
  REQUIRE(a.stop == b.stop);
  REQUIRE(a.start == b.start);
  REQUIRE(a.pause == b.pause);
  REQUIRE(a.resume == b.resume);
  REQUIRE(a.values.size() == b.values.size());
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    REQUIRE(a.values[i].value == b.values[i].value);
    REQUIRE(a.values[i].predicate.comparison ==
            b.values[i].predicate.comparison);
    REQUIRE(a.values[i].predicate.bits == b.values[i].predicate.bits);
  }
}

std::string ErrorOf(const std::string& text) {
  const auto parsed = ParseTrigger(text);
  INFO(text);
  REQUIRE(!parsed.ok());
  return std::string(parsed.status().message());
}

}  // namespace

TEST_CASE("trigger_text: what is printed reads back as the same") {
  Random random(20261121);
  for (int i = 0; i < 20'000; ++i) {
    const Trigger trigger = RandomTrigger(random);
    const std::string text = PrintTrigger(trigger);
    if (text.size() > kMaxTriggerBytes) continue;
    const auto parsed = ParseTrigger(text);
    INFO(text << ": " << parsed.status());
    REQUIRE(parsed.ok());
    RequireSame(*parsed, trigger);
    REQUIRE(parsed->text == text);
  }
}

TEST_CASE("trigger_text: random changes of a text never crash") {
  Random random(7);
  constexpr std::string_view kPieces[] = {
      "segment", "hook",    "signal", ">",     "20ms", "a:b",  "at",
      "most",    "every",   "5",      "times", "then", "stop", "start",
      "after",   "SIGUSR2", "\t",     "\x80",  ">20ms"};
  for (int i = 0; i < 50'000; ++i) {
    std::string text;
    for (std::uint64_t words = random() % 10; words > 0; --words) {
      text += kPieces[random() % std::size(kPieces)];
      if (random() % 8 != 0) text += ' ';
    }
    const auto parsed = ParseTrigger(text);
    if (!parsed.ok()) {
      REQUIRE(parsed.status().message().find("--trigger:1:") == 0);
      continue;
    }
    const auto again = ParseTrigger(parsed->text);
    REQUIRE(again.ok());
    RequireSame(*again, *parsed);
  }
}

TEST_CASE("trigger_text: one hook alone starts what is counted") {
  REQUIRE(ParseTrigger("hook server:warm then start")->start);
  REQUIRE(ErrorOf("hook a:b then strat").find("`then start`") !=
          std::string::npos);
  for (const char* condition :
       {"segment a:b > 1ms", "signal SIGUSR2", "every 1s"}) {
    REQUIRE(ErrorOf(std::string(condition) + " then start")
                .find("only a hook can start") != std::string::npos);
  }
  for (const char* more : {"after 1ms", "at most 1 time", "at most every 1s"}) {
    REQUIRE(
        ErrorOf(std::string("hook a:b then start ") + more).find("leave out") !=
        std::string::npos);
  }
  for (const char* twice : {"then start then start", "then stop then start"}) {
    REQUIRE(ErrorOf(std::string("hook a:b ") + twice).find("twice") !=
            std::string::npos);
  }
  const auto two =
      ParseTriggers({"hook a:b then start", "hook c:* then start"});
  REQUIRE(two.status().message().find("Two triggers") == 0);
  REQUIRE(ParseTriggers({"hook a:b then start", "hook c:d then stop"}).ok());
}

TEST_CASE("trigger_text: hooks pause and resume what is counted") {
  REQUIRE(ParseTrigger("hook gc:begin then pause")->pause);
  REQUIRE(ParseTrigger("hook gc:end then resume")->resume);
  REQUIRE(ErrorOf("segment a:b > 1ms then pause")
              .find("only a hook can pause: `hook server:warm then pause`") !=
          std::string::npos);
  REQUIRE(ErrorOf("hook a:b then pause after 1ms").find("leave out") !=
          std::string::npos);
  REQUIRE(ErrorOf("hook a:b then pause then resume").find("twice") !=
          std::string::npos);
  // Any number of them.
  REQUIRE(ParseTriggers({"hook a:b then pause", "hook a:c then pause",
                         "hook a:d then resume"})
              .ok());
  // Not of one hook, which would begin what it ends.
  for (const char* other : {"pause", "resume"}) {
    const auto both = ParseTriggers(
        {"hook a:b then pause", std::string("hook  a:b then ") + other});
    CHECK(both.status().message().find("are of the same hook: leave one out") !=
          std::string::npos);
  }
  REQUIRE(ParseTriggers({"hook a:b if arg0 == 1 then pause",
                         "hook a:b if arg0 == 0 then resume", "hook a:b"})
              .ok());
}

TEST_CASE("trigger_text: comparisons with values of the record") {
  const auto trigger = ParseTrigger(
      "segment syscall:write > 5ms if count>4096 and file == \"a then b\" "
      "after 1s");
  REQUIRE(trigger.ok());
  REQUIRE(trigger->values.size() == 2);
  REQUIRE(trigger->values[0].value == "count");
  REQUIRE(trigger->values[0].predicate.bits == 4096);
  REQUIRE(trigger->after_ns == 1'000'000'000);
  REQUIRE(trigger->text ==
          "segment syscall:write > 5ms if count > 4096 and file == \"a then "
          "b\" after 1s");
  REQUIRE(ErrorOf("hook a:b if ret < 0 then pause").find("no `ret`") !=
          std::string::npos);
  REQUIRE(ErrorOf("hook a:b if arg0 then pause").find("one of ==") !=
          std::string::npos);
  REQUIRE(ErrorOf("signal SIGUSR2 if arg0 > 1").find("after 50ms") !=
          std::string::npos);
  REQUIRE(ErrorOf("hook a:b if a == 1 and b == 2 and c == 3 and d == 4 and "
                  "e == 5")
              .find("more than 4") != std::string::npos);
}

TEST_CASE("trigger_text: the clauses of a trigger") {
  const auto trigger = ParseTrigger(
      "segment server:* >20ms at most every 5s at most 3 times after 50ms");
  REQUIRE(trigger.ok());
  REQUIRE(trigger->glob == "server:*");
  REQUIRE(trigger->longer_than_ns == 20'000'000);
  REQUIRE(trigger->min_interval_ns == 5'000'000'000);
  REQUIRE(trigger->limit == 3);
  REQUIRE(trigger->after_ns == 50'000'000);
  REQUIRE_FALSE(trigger->stop);
  REQUIRE(ParseTrigger("hook a:b then stop")->stop);
  REQUIRE(ParseTrigger("signal USR2")->signal == SIGUSR2);
  REQUIRE(ParseTrigger("signal SIGRTMIN+2")->signal == SIGRTMIN + 2);
}

TEST_CASE("trigger_text: errors say where and give an example") {
  const struct {
    const char* text;
    int column;
    const char* part;
  } cases[] = {
      {"", 1, "expected a condition"},
      {"segments a:b > 1s", 1, "\n  segments a:b > 1s\n  ^"},
      {"segment", 8, "provider:name"},
      {"segment handle > 1s", 9, "provider:name"},
      {"segment a:b,c:d > 1s", 9, "once for each"},
      {"segment a:b < 1s", 13, "> TIME"},
      {"segment a:b >= 1s", 13, "> TIME"},
      {"segment a:b > 1", 15, "with its unit"},
      {"segment a:b > 0s", 15, "with its unit"},
      {"signal SIGINT", 8, "SIGUSR2"},
      {"signal SIGRTMIN+99", 8, "SIGRTMIN+N"},
      {"hook a:b often", 10, "then stop"},
      {"hook a:b then", 14, "then stop"},
      {"hook a:b at most", 17, "at most 5 times"},
      {"hook a:b at most 3", 19, "at most 5 times"},
      {"hook a:b at most 0 times", 18, "at most 5 times"},
      {"hook a:b after 1s after 2s", 19, "twice"},
      {"hook a:b at most 3 times then stop", 35, "once"},
      {"hook a:\xc3\xa4", 8, "ASCII"},
  };
  for (const auto& wrong : cases) {
    const std::string error = ErrorOf(wrong.text);
    INFO(wrong.text << ": " << error);
    REQUIRE(error.find("--trigger:1:" + std::to_string(wrong.column) + ":") !=
            std::string::npos);
    REQUIRE(error.find(wrong.part) != std::string::npos);
  }
  REQUIRE(ErrorOf("hook a:" + std::string(kMaxTriggerBytes, 'b'))
              .find("too long") != std::string::npos);
  REQUIRE_FALSE(
      ParseTriggers(std::vector<std::string>(kMaxTriggers + 1, "hook a:b"))
          .ok());
}

}  // namespace countrace::runtime
