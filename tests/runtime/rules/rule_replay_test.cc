// The replay over logs that were built record by record.
#include "runtime/rules/rule_replay.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/rules/dump_rule_eval.h"
#include "runtime/rules/rule_remarks.h"
#include "tests/support/trace_builder.h"

namespace countrace::runtime {
namespace {

using test_support::TempDirectory;
using test_support::TraceBuilder;

constexpr std::uint64_t kTickNs = 100;

ReplayResult Replay(const std::string& path,
                    const std::vector<std::string>& rules) {
  auto trace = logformat::TraceReader::Open(path);
  REQUIRE(trace.ok());
  auto result = ReplayDumpRules(**trace, *ParseDumpRules(rules), kTickNs);
  REQUIRE(result.ok());
  return *std::move(result);
}

// Times of the point hook a:b in one thread.
void WritePoints(const std::string& path,
                 const std::vector<std::uint64_t>& times_ns) {
  TraceBuilder builder(path);
  const std::uint32_t hook = builder.AddPoint("a", "b");
  for (const std::uint64_t time_ns : times_ns) {
    builder.Thread(1, 1).Point(hook, time_ns);
  }
  builder.Finish();
}

std::vector<std::uint64_t> RandomTimes(std::mt19937_64& random) {
  std::vector<std::uint64_t> times_ns;
  std::uint64_t now_ns = 1000;
  for (int i = 0; i < 300; ++i) {
    now_ns += random() % 3 == 0 ? random() % 500 : random() % 20;
    times_ns.push_back(now_ns);
  }
  return times_ns;
}

// The number of dumps that the rule selects, evaluated record by record.
std::uint64_t Count(const DumpRule& rule,
                    const std::vector<std::uint64_t>& times_ns) {
  countrace_rule_state state{};
  std::uint64_t dumps = 0;
  for (const std::uint64_t time_ns : times_ns) {
    if (countrace_rule_takes_nth(&rule, ++state.passed) == 0) continue;
    if (countrace_rule_has_time(&rule) != 0) {
      if (countrace_rule_is_due(&rule, state.last_ns, time_ns, kTickNs) == 0) {
        continue;
      }
      state.last_ns = time_ns;
    }
    ++dumps;
  }
  return dumps;
}

}  // namespace

TEST_CASE("rule_replay: threads that end and programs that exec begin anew") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  const std::uint32_t hook = builder.AddPoint("a", "b");
  const std::uint32_t segment = builder.AddSegment("a", "s");
  auto& thread = builder.Thread(7, 8);
  for (std::uint64_t ns = 1; ns <= 3; ++ns) thread.Point(hook, ns);
  thread.Enter(segment, 4);
  builder.Cpu(0).Exit(10, 7, 8);  // the tid is used again
  for (std::uint64_t ns = 11; ns <= 13; ++ns) thread.Point(hook, ns);
  thread.Exit(segment, 14);
  builder.Cpu(0).Exec(20, 7, 7, "next");
  for (std::uint64_t ns = 21; ns <= 23; ++ns) thread.Point(hook, ns);
  builder.Finish();
  // Each of the three saw 3 records, of which one is a second.
  CHECK(Replay(temp / "t", {"a:b every 2"}).rules[0].dumps == 3);
  // Its exit belongs to another thread: its result is unknown.
  const ReplayResult entered = Replay(temp / "t", {"a:s if arg0 == 1", "*"});
  CHECK(entered.rules[0].records == 2);
  CHECK(entered.rules[0].dumps == 0);
  CHECK(entered.rules[1].dumps == 9);
}

TEST_CASE("rule_replay: times and callers, against asking one by one") {
  std::mt19937_64 random(28);
  for (int round = 0; round < 40; ++round) {
    TempDirectory temp(TempDirectory::Place::kMemory);
    const std::vector<std::uint64_t> times_ns = RandomTimes(random);
    WritePoints(temp / "t", times_ns);
    std::string clauses;
    if (random() % 2 == 0) {
      clauses += " every " + std::to_string(1 + random() % 5);
    }
    if (random() % 2 == 0) {
      clauses += " at most every " + std::to_string(1 + random() % 400) + "ns";
    }
    if (random() % 2 == 0) {
      clauses += " every " + std::to_string(1 + random() % 4) + " ticks";
    }
    INFO(clauses);
    const auto rule = ParseDumpRule("a:b" + clauses);
    REQUIRE(rule.ok());
    const ReplayedRule timed = Replay(temp / "t", {"a:b" + clauses}).rules[0];
    CHECK(timed.records == times_ns.size());
    CHECK(timed.dumps == Count(*rule, times_ns));
    CHECK(timed.quality == (countrace_rule_has_time(&*rule) != 0
                                ? ReplayQuality::kInferred
                                : ReplayQuality::kExact));

    // For any callers: never more than the bound.
    const ReplayedRule bounded =
        Replay(temp / "t", {"a:b from lib.so" + clauses}).rules[0];
    CHECK(bounded.quality == ReplayQuality::kBounded);
    for (int subset = 0; subset < 50; ++subset) {
      std::vector<std::uint64_t> passed;
      const std::uint64_t share = 1 + random() % 10;
      std::copy_if(times_ns.begin(), times_ns.end(), std::back_inserter(passed),
                   [&](std::uint64_t) { return random() % 10 < share; });
      CHECK(Count(*rule, passed) <= bounded.dumps);
    }
  }
}

namespace {

// Kernel-side hooks under rules, evaluated record by record: without a limit of
// depth, and by the definitions in the manual.
class KernelHookModel {
 public:
  explicit KernelHookModel(const DumpRule& rule) : rule_(rule) {}

  // `owner`: a thread, or the CPU for interrupts.
  void Enter(const std::string& owner, std::uint32_t hook, std::uint64_t ns) {
    open_[{owner, hook}].push_back(Ask(owner, hook, ns));
  }
  void Point(const std::string& owner, std::uint32_t hook, std::uint64_t ns) {
    (void)Ask(owner, hook, ns);
  }
  void Exit(const std::string& owner, std::uint32_t hook) {
    std::vector<bool>& open = open_[{owner, hook}];
    if (open.empty()) return;
    if (open.back()) ++dumps_;
    open.pop_back();
  }
  void Forget(const std::string& owner) {
    std::erase_if(open_,
                  [&](const auto& at) { return at.first.first == owner; });
    std::erase_if(states_,
                  [&](const auto& at) { return at.first.first == owner; });
  }
  std::size_t depth(const std::string& owner, std::uint32_t hook) {
    return open_[{owner, hook}].size();
  }
  std::uint64_t dumps() const { return dumps_; }

 private:
  using Key = std::pair<std::string, std::uint32_t>;

  bool Ask(const std::string& owner, std::uint32_t hook, std::uint64_t ns) {
    countrace_rule_state& state = states_[{owner, hook}];
    if (countrace_rule_takes_nth(&rule_, ++state.passed) == 0) return false;
    if (countrace_rule_has_time(&rule_) != 0) {
      if (countrace_rule_is_due(&rule_, state.last_ns, ns, kTickNs) == 0) {
        return false;
      }
      state.last_ns = ns;
    }
    ++dumps_;
    return true;
  }

  const DumpRule& rule_;
  std::map<Key, std::vector<bool>> open_;
  std::map<Key, countrace_rule_state> states_;
  std::uint64_t dumps_ = 0;
};

std::string RandomClauses(std::mt19937_64& random) {
  std::string clauses;
  if (random() % 4 != 0)
    clauses += " every " + std::to_string(1 + random() % 5);
  if (random() % 3 == 0) {
    clauses += " at most every " + std::to_string(1 + random() % 400) + "ns";
  }
  if (random() % 3 == 0) {
    clauses += " every " + std::to_string(1 + random() % 4) + " ticks";
  }
  return clauses;
}

}  // namespace

TEST_CASE("rule_replay: kernel-side hooks, against asking one by one") {
  std::mt19937_64 random(61);
  for (int round = 0; round < 40; ++round) {
    const std::string text = "k:*" + RandomClauses(random);
    INFO(text);
    const auto rule = ParseDumpRule(text);
    REQUIRE(rule.ok());
    // `always` needs no state: it also selects exits of earlier calls.
    if (countrace_rule_is_always(&*rule) != 0) continue;
    TempDirectory temp(TempDirectory::Place::kMemory);
    TraceBuilder builder(temp / "t");
    const std::uint32_t calls[] = {
        builder.AddKernelHook("kernel-segment", "k", "call"),
        builder.AddKernelHook("probe-segment", "k", "function"),
        builder.AddKernelHook("interrupt", "k", "interrupt")};
    const std::uint32_t point =
        builder.AddKernelHook("kernel-point", "k", "at");
    const std::uint32_t other =
        builder.AddKernelHook("kernel-point", "other", "at");
    KernelHookModel model(*rule);
    std::uint64_t now_ns = 1000, records = 0;
    for (int i = 0; i < 2000; ++i) {
      now_ns += 1 + random() % 60;
      const auto cpu = static_cast<std::int32_t>(random() % 2);
      const auto tid = static_cast<std::int32_t>(random() % 4);
      const std::uint64_t ids = static_cast<std::uint64_t>(tid) | 9ull << 24;
      const auto kind = random() % 100;
      auto& stream = builder.Cpu(cpu);
      if (kind < 2 && tid != 0) {
        if (kind == 0) stream.Exit(now_ns, 9, tid);
        if (kind == 1) stream.Fork(now_ns, 9, tid, 9, 3);
        model.Forget("t" + std::to_string(tid));
        continue;
      }
      const std::uint32_t hook = kind < 80   ? calls[random() % 3]
                                 : kind < 95 ? point
                                             : other;
      const bool of_cpu = tid == 0 || hook == calls[2];
      const std::string owner =
          of_cpu ? "c" + std::to_string(cpu) : "t" + std::to_string(tid);
      // Some exits have no enter, some enters no exit.
      const bool exit =
          kind < 80 && (random() % 2 == 0 || model.depth(owner, hook) >= 60);
      const auto event_id =
          static_cast<std::uint16_t>(hook * 2 + (exit ? 1 : 0));
      stream.KernelHook(now_ns, event_id, ids, {},
                        exit ? std::optional<std::int64_t>(0) : std::nullopt);
      if (hook == other) continue;
      ++records;
      if (exit) {
        model.Exit(owner, hook);
      } else if (hook == point) {
        model.Point(owner, hook, now_ns);
      } else {
        model.Enter(owner, hook, now_ns);
      }
    }
    builder.Finish();
    const ReplayResult result = Replay(temp / "t", {text});
    CHECK(result.rules[0].hooks == 4);
    CHECK(result.rules[0].records == records);
    CHECK(result.rules[0].kernel_records == records);
    CHECK(result.rules[0].dumps == model.dumps());
    CHECK(result.rules[0].kernel_dumps == model.dumps());
    CHECK(result.unmatched.hooks == 1);
    CHECK(result.unmatched.dumps == 0);
  }
}

TEST_CASE("rule_replay: kernel-side calls deeper than a word remembers") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  const std::uint32_t hook =
      builder.AddKernelHook("probe-segment", "k", "function");
  const std::uint64_t ids = 7 | 7ull << 24;
  std::uint64_t now_ns = 1;
  const auto enter = static_cast<std::uint16_t>(hook * 2);
  for (int i = 0; i < 100; ++i) {
    builder.Cpu(0).KernelHook(now_ns++, enter, ids, {}, std::nullopt);
  }
  for (int i = 0; i < 100; ++i) {
    builder.Cpu(0).KernelHook(now_ns++, enter | 1, ids, {}, 0);
  }
  builder.Finish();
  // 50 dumps at enters; the exits of the 64 innermost calls repeat theirs.
  CHECK(Replay(temp / "t", {"k:* every 2"}).rules[0].dumps == 50 + 32);
  // Facts that no record of these hooks holds give bounds.
  for (const char* rule :
       {"k:* if arg0 == 0 every 2", "k:* from libk.so every 2"}) {
    const ReplayedRule bounded = Replay(temp / "t", {rule}).rules[0];
    CAPTURE(rule);
    CHECK(bounded.quality == ReplayQuality::kBounded);
    CHECK(bounded.unknown_at_kernel_hooks);
    CHECK(bounded.dumps == 50 + 32);
  }
}

TEST_CASE("rule_replay: what code returned, and numbers, are in the log") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  const std::uint32_t hook =
      builder.AddKernelHook("probe-segment", "k", "function");
  const auto enter = static_cast<std::uint16_t>(hook * 2);
  // Recursive: the k-th of 30 levels returns k - 15, innermost first.
  std::uint64_t now_ns = 1;
  const std::uint64_t ids = 7 | 7ull << 24;
  for (int i = 0; i < 30; ++i) {
    builder.Cpu(0).KernelHook(now_ns++, enter, ids, {}, std::nullopt);
  }
  for (int i = 0; i < 30; ++i) {
    builder.Cpu(0).KernelHook(now_ns++, enter | 1, ids, {}, i - 15);
  }
  builder.Finish();
  for (const auto& [rule, exits] :
       std::vector<std::pair<std::string, std::uint64_t>>{
           {"if ret < 0", 15},
           {"if ret < -5 every 3", 3},
           {"if ret >= 0 and ret != 3", 14},
           {"if ret == 30", 0}}) {
    const ReplayedRule replayed = Replay(temp / "t", {"k:* " + rule}).rules[0];
    CAPTURE(rule);
    CHECK(replayed.quality == ReplayQuality::kExact);
    // Each enter may qualify.
    CHECK(replayed.dumps == 30 + exits);
  }
  // A hook that is not in a list has no number.
  CHECK(Replay(temp / "t", {"k:* if number == 0"}).rules[0].dumps == 0);
}

TEST_CASE("rule_replay: hooks without a rule, and losses, are said") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  const std::uint32_t text = builder.AddPoint("a", "text", "s");
  const std::uint32_t other = builder.AddPoint("b", "other");
  builder.Thread(1, 1).Point(text, 1, {std::string("GET")});
  builder.Thread(1, 1).Point(other, 2);
  builder.session().discarded_by_cause[2] = 5;
  builder.Finish();
  const std::vector<std::string> rules = {"a:* if arg0 == \"GET\"",
                                          "c:* every 2"};
  const ReplayResult result = Replay(temp / "t", rules);
  CHECK(result.rules[0].dumps == 1);
  CHECK(result.unmatched.hooks == 1);
  CHECK(result.unmatched.records == 1);
  CHECK(result.unmatched.dumps == 0);
  CHECK(result.lost == 5);

  const auto trace = logformat::TraceReader::Open(temp / "t");
  const auto& hooks = (*trace)->info().hooks;
  const auto remarks = [&](const std::string& rule) {
    return RuleRemarks(*ParseDumpRules({rule}), hooks);
  };
  CHECK(remarks(rules[0]).empty());
  CHECK(remarks("b:* every 3").empty());
  REQUIRE(remarks(rules[1]).size() == 1);
  CHECK(remarks(rules[1])[0].find("applies to no hook") != std::string::npos);
  CHECK(remarks("a:* if arg0 > 1")[0].find("text") != std::string::npos);
  CHECK(remarks("b:* if arg0 > 1")[0].find("no arg0") != std::string::npos);
}

}  // namespace countrace::runtime
