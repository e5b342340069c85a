// Dump rules in the runtime library, against the replay over a log without
// rules: one workload, the same rules, the same number of dumps.
#include <sys/wait.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "runtime/rules/rule_replay.h"
#include "tests/runtime/inprocess/test_session.h"

namespace countrace::test {
namespace {

namespace lf = countrace::logformat;

using runtime::DumpRule;
using runtime::ReplayResult;

struct HookDumps {
  std::uint64_t enters = 0, enter_dumps = 0, exit_dumps = 0;
  std::vector<std::uint64_t> enter_dump_ns;  // times, in order
};

// By (hook, tid).
using Dumps = std::map<std::pair<std::string, int>, HookDumps>;

class DumpSink : public lf::ItemSink {
 public:
  explicit DumpSink(const lf::TraceInfo& info) : info_(info) {}
  void OnRecord(const lf::EventRecord& record) override {
    const lf::HookInfo* hook = info_.FindHook(lf::EventHookId(record.event_id));
    REQUIRE(hook != nullptr);
    HookDumps& counts = dumps[{hook->FullName(), record.tid}];
    const bool dump = record.counters != nullptr;
    if ((record.event_id & lf::kEventExitBit) != 0) {
      counts.exit_dumps += dump ? 1 : 0;
      return;
    }
    ++counts.enters;
    if (!dump) return;
    ++counts.enter_dumps;
    counts.enter_dump_ns.push_back(record.time_ns);
  }
  void OnDiscardedEvents(const lf::DiscardedEvents& loss) override {
    lost += loss.count;
  }
  void OnDiscardedPackets(const lf::DiscardedPackets&) override { ++lost; }

  Dumps dumps;
  std::uint64_t lost = 0;

 private:
  const lf::TraceInfo& info_;
};

struct RuledRun {
  Dumps dumps;
  ReplayResult replay;  // of the log just recorded
  std::vector<DumpRule> rules;

  // Dumps at hooks for which rule `index` decides (-1: none does).
  std::uint64_t DumpsOf(int index) const {
    std::uint64_t sum = 0;
    for (const auto& [key, hook] : dumps) {
      if (runtime::FindDumpRule(rules, key.first) != index) continue;
      sum += hook.enter_dumps + hook.exit_dumps;
    }
    return sum;
  }
};

// Runs the workload under `recorded_rules` and replays its log under `rules`.
RuledRun Run(const std::vector<std::string>& arguments,
             const std::vector<std::string>& recorded_rules,
             const std::vector<std::string>& rules) {
  TestSession::Options options;
  options.software_events = {{"page-faults", 2}};
  options.dump_rules = recorded_rules;
  TestSession session(options);
  const ProgramResult program = session.Run(arguments);
  INFO(program.errors);
  REQUIRE(WIFEXITED(program.status));
  REQUIRE(WEXITSTATUS(program.status) == 0);
  session.Finish();
  auto trace = lf::TraceReader::Open(session.path());
  REQUIRE(trace.ok());
  DumpSink sink((*trace)->info());
  REQUIRE((*trace)->Read(sink).ok());
  REQUIRE(sink.lost == 0);
  RuledRun run;
  run.dumps = std::move(sink.dumps);
  run.rules = *runtime::ParseDumpRules(rules);
  auto replay =
      runtime::ReplayDumpRules(**trace, run.rules, runtime::KernelTickNs());
  REQUIRE(replay.ok());
  run.replay = *std::move(replay);
  CHECK(run.replay.lost == 0);
  return run;
}

// A random list of count and payload rules over the hooks of mode "walks".
std::vector<std::string> RandomRules(std::mt19937& random) {
  const char* const globs[] = {"walk:step", "walk:word", "walk:leaf",
                               "walk:here", "walk:pair", "walk:*"};
  const char* const predicates[] = {
      "arg0 > 40",       "arg1 < 0",
      "arg0 == \"GET\"", "arg0 != \"PUT\"",
      "arg1 >= 1.25",    "arg0 & 1",
      "arg1 == -2",      "arg0 >= 3",
      "arg5 == 1",       "arg0 != 50 and arg1 != 0"};
  std::vector<std::string> rules;
  for (const char* glob : globs) {
    std::string rule = glob;
    switch (random() % 6) {
      case 0:
        continue;
      case 1:
        rule += random() % 2 == 0 ? " never" : " always";
        break;
      default:
        if (random() % 2 == 0) {
          rule += std::string(" if ") +
                  predicates[random() % std::size(predicates)];
        }
        if (random() % 4 != 0) {
          rule += " every " + std::to_string(1 + random() % 50);
        }
    }
    rules.push_back(rule);
  }
  if (rules.empty()) rules.push_back("walk:* every 3");
  return rules;
}

}  // namespace

TEST_CASE("dump rules: a dry run predicts what the ruled run then records") {
  std::mt19937 random(27);
  std::uint64_t dumps = 0;
  for (int round = 0; round < 12; ++round) {
    const std::vector<std::string> rules = RandomRules(random);
    std::string all;
    for (const std::string& rule : rules) all += "[" + rule + "] ";
    INFO(all);
    const std::vector<std::string> arguments = {"walks", "3", "700"};
    const RuledRun unruled = Run(arguments, {}, rules);
    const RuledRun ruled = Run(arguments, rules, rules);
    for (std::size_t i = 0; i < rules.size(); ++i) {
      INFO(rules[i]);
      CHECK(unruled.replay.rules[i].quality == runtime::ReplayQuality::kExact);
      CHECK(unruled.replay.rules[i].dumps ==
            ruled.DumpsOf(static_cast<int>(i)));
      CHECK(unruled.replay.rules[i].records == ruled.replay.rules[i].records);
      dumps += unruled.replay.rules[i].dumps;
    }
    CHECK(ruled.DumpsOf(-1) == 0);
    // A segment has counters at both ends or at neither.
    for (const auto& [key, hook] : ruled.dumps) {
      if (hook.exit_dumps != 0) CHECK(hook.exit_dumps == hook.enter_dumps);
    }
  }
  CHECK(dumps > 10000);
}

TEST_CASE("dump rules: each n-th of a hook in a thread, signals or forks") {
  const auto [arguments, n] =
      GENERATE(table<std::vector<std::string>, std::uint64_t>({
          {{"storm", "3000", "100"}, 7},
          {{"forks", "20", "2"}, 3},
          {{"short", "50", "20"}, 6},
          {{"exceptions", "1000"}, 4},
          {{"life"}, 1000},
      }));
  const std::string rule = "every " + std::to_string(n);
  const RuledRun run = Run(arguments, {rule}, {rule});
  std::uint64_t checked = 0;
  for (const auto& [key, hook] : run.dumps) {
    CAPTURE(arguments, key.first, key.second, hook.enters);
    CHECK(hook.enter_dumps == hook.enters / n);
    ++checked;
  }
  CHECK(checked > 0);
  // The log's own dumps have no effect on its replay.
  CHECK(run.replay.rules[0].dumps == run.DumpsOf(0));
}

TEST_CASE("dump rules: at most every T keeps its distance in the log") {
  constexpr std::uint64_t kIntervalNs = 200'000;
  const RuledRun run = Run({"clock", "3", "20000", "500"},
                           {"at most every 200us"}, {"at most every 200us"});
  CHECK(run.replay.rules[0].quality == runtime::ReplayQuality::kInferred);
  std::uint64_t dumps = 0;
  for (const auto& [key, hook] : run.dumps) {
    dumps += hook.enter_dumps;
    REQUIRE_FALSE(hook.enter_dump_ns.empty());  // a thread's first is due
    CHECK(hook.enter_dumps < hook.enters);
    for (std::size_t i = 1; i < hook.enter_dump_ns.size(); ++i) {
      REQUIRE(hook.enter_dump_ns[i] - hook.enter_dump_ns[i - 1] >= kIntervalNs);
    }
    const std::uint64_t span =
        hook.enter_dump_ns.back() - hook.enter_dump_ns.front();
    CHECK(hook.enter_dumps <= span / kIntervalNs + 1);
  }
  // The replay decides at its record's time, a moment later than the hook did:
  // never more than the bound.
  CHECK(run.replay.rules[0].dumps >= dumps);
}

TEST_CASE("dump rules: every N ticks falls into different ticks") {
  const RuledRun run =
      Run({"clock", "2", "20000", "500"}, {"every 2 ticks"}, {"every 2 ticks"});
  const std::uint64_t interval_ns = 2 * runtime::KernelTickNs();
  REQUIRE(interval_ns > 0);
  for (const auto& [key, hook] : run.dumps) {
    REQUIRE_FALSE(hook.enter_dump_ns.empty());
    for (std::size_t i = 1; i < hook.enter_dump_ns.size(); ++i) {
      REQUIRE(hook.enter_dump_ns[i] / interval_ns >
              hook.enter_dump_ns[i - 1] / interval_ns);
    }
  }
}

TEST_CASE("dump rules: from a library, from a part of it, from elsewhere") {
  const std::vector<std::string> arguments = {"library",
                                              COUNTRACE_WORKLOAD_LIBRARY, "3"};
  const auto library_dumps = [&](const std::string& rule) {
    const RuledRun run = Run(arguments, {rule}, {rule});
    CHECK(run.replay.rules[0].quality == runtime::ReplayQuality::kBounded);
    CHECK(run.replay.rules[0].dumps >= run.DumpsOf(0));
    return run.DumpsOf(0);
  };
  constexpr std::uint64_t kAll = 9;  // enter, point, exit; three times
  CHECK(library_dumps("library:* from libworkload_library.so") == kAll);
  CHECK(library_dumps("library:* from libworkload_library") == kAll);
  CHECK(library_dumps("library:* from hook_workload") == 0);
  CHECK(library_dumps("library:* from libworkload") == 0);
  CHECK(library_dumps("library:* from 0x0-0xffffffffffffffff") == kAll);
  CHECK(library_dumps("library:* from 0x0-0x1000") == 0);
  unsigned long long begin = 0;
  unsigned long long bytes = 0;
  REQUIRE(
      sscanf(ShellOutput("nm -S " + std::string(COUNTRACE_WORKLOAD_LIBRARY) +
                         " | grep ' library_call$'")
                 .c_str(),
             "%llx %llx", &begin, &bytes) == 2);
  char within[128];
  snprintf(within, sizeof(within),
           "library:* from libworkload_library.so+%#llx-%#llx", begin,
           begin + bytes);
  CHECK(library_dumps(within) == kAll);
  snprintf(within, sizeof(within),
           "library:* from libworkload_library.so+%#llx-%#llx", begin + bytes,
           begin + bytes + 0x100000);
  CHECK(library_dumps(within) == 0);
}

TEST_CASE("dump rules: without counters at hooks there is nothing to dump") {
  TestSession::Options options;
  options.dump_rules = {"workload:* every 2"};
  TestSession session(options);
  REQUIRE(session.Run({"ticks", "2", "100"}).status == 0);
  session.Finish();
  CHECK(session.Read().records == 200);
}

}  // namespace countrace::test
