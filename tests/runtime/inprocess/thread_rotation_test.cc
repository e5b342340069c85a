// Multiplexed event sets at user hooks, in a real program: no rotation inside a
// segment unless the segment is far longer than a slice, each round has each
// set twice, a set's counts stand still while it is not counted, and no call is
// lost or cut.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "logformat/read/trace_reader.h"
#include "tests/runtime/inprocess/test_session.h"

namespace countrace::test {
namespace {

namespace lf = countrace::logformat;

constexpr std::size_t kValues = 3;  // one always on, the largest set has two

struct Dump {
  std::string hook;
  lf::HookKind kind;
  bool exit;
  std::uint64_t time_ns;
  std::uint32_t mmcr, present;
  std::array<std::uint64_t, kValues> values;
};

class Collector : public lf::ItemSink {
 public:
  explicit Collector(const lf::TraceInfo& info) : info_(info) {}
  void OnRecord(const lf::EventRecord& record) override {
    const lf::HookInfo* hook = info_.FindHook(lf::EventHookId(record.event_id));
    REQUIRE(hook != nullptr);
    REQUIRE(record.counters != nullptr);
    Dump dump = {hook->name,
                 hook->kind,
                 (record.event_id & lf::kEventExitBit) != 0,
                 record.time_ns,
                 record.mmcr,
                 record.present,
                 {}};
    std::copy_n(record.counters, kValues, dump.values.begin());
    dumps.push_back(dump);
  }
  void OnDiscardedEvents(const lf::DiscardedEvents&) override { FAIL(); }
  void OnDiscardedPackets(const lf::DiscardedPackets&) override { FAIL(); }
  std::vector<Dump> dumps;

 private:
  const lf::TraceInfo& info_;
};

// task-clock is always on; {page-faults, context-switches}, {minor-faults} and
// {cpu-migrations, dummy} are multiplexed.
std::vector<Dump> Record(std::uint64_t rotate_ns,
                         const std::vector<std::string>& arguments) {
  TestSession::Options options;
  options.software_events = {{"task-clock", 1},       {"page-faults", 2},
                             {"context-switches", 3}, {"minor-faults", 5},
                             {"cpu-migrations", 4},   {"dummy", 9}};
  options.set_sizes = {2, 1, 2};
  options.rotate_ns = rotate_ns;
  options.sub_buffer_bytes = 16 << 20;  // one for all: it adds no page faults
  TestSession session(options);
  REQUIRE(WIFEXITED(session.Run(arguments).status));
  session.Finish();
  auto reader = lf::TraceReader::Open(session.path());
  REQUIRE(reader.ok());
  Collector collector((*reader)->info());
  REQUIRE((*reader)->Read(collector).ok());
  REQUIRE(collector.dumps.size() > 100);
  return collector.dumps;
}

// Checks each dump: it has the bits of its set, and its counts increase in the
// set's slices and stand still in others'.
void CheckValues(const std::vector<Dump>& dumps) {
  const std::uint32_t bits[] = {0b111, 0b011, 0b111};
  std::map<std::pair<std::uint32_t, std::size_t>, std::uint64_t> last;
  std::uint32_t set = dumps.front().mmcr;
  for (const Dump& dump : dumps) {
    REQUIRE(dump.mmcr < 3);
    // A handler during a rotation has only the always-on values.
    const std::uint32_t present = dump.present & ~lf::kOddRotationBit;
    if (dump.hook == "handler" && present == 1) continue;
    REQUIRE(present == bits[dump.mmcr]);
    for (std::size_t i = 0; i < kValues; ++i) {
      auto& before = last[{i == 0 ? 0 : dump.mmcr, i}];
      REQUIRE(dump.values[i] >= before);
      // A slice begins: no pages were counted in the others' slices (100 and
      // more), only after the last dump of its own.
      if (i == 1 && dump.mmcr < 2 && dump.mmcr != set) {
        REQUIRE(dump.values[i] <= before + 40);
      }
      before = dump.values[i];
    }
    set = dump.mmcr;
  }
}

struct Rotation {
  std::uint32_t set;
  std::size_t depth;  // of segments open where it begins
  std::uint64_t begin_ns;
  std::uint64_t calls;  // that began and ended in it
  std::uint32_t odd;
};

std::vector<Rotation> Rotations(const std::vector<Dump>& dumps) {
  std::vector<Rotation> rotations;
  std::vector<std::pair<const Dump*, std::size_t>> open;  // slice it began in
  for (const Dump& dump : dumps) {
    const std::uint32_t odd = dump.present & lf::kOddRotationBit;
    if (rotations.empty() || dump.mmcr != rotations.back().set ||
        odd != rotations.back().odd) {
      // Only an enter begins one.
      REQUIRE_FALSE(dump.exit);
      REQUIRE(dump.kind == lf::HookKind::kSegment);
      rotations.push_back({dump.mmcr, open.size(), dump.time_ns, 0, odd});
    }
    if (dump.kind != lf::HookKind::kSegment) continue;
    if (!dump.exit) {
      open.emplace_back(&dump, rotations.size());
      continue;
    }
    REQUIRE_FALSE(open.empty());
    REQUIRE(open.back().first->hook == dump.hook);
    if (open.back().second == rotations.size()) ++rotations.back().calls;
    open.pop_back();
  }
  CHECK(open.empty());
  return rotations;
}

TEST_CASE(
    "sets at user hooks: each instance of the outermost segment has its "
    "set") {
  const auto dumps = Record(/*rotate_ns=*/0, {"nested", "600", "20"});
  CheckValues(dumps);
  std::map<std::uint32_t, std::uint64_t> instances;
  std::uint32_t outer = 3;
  std::vector<std::uint32_t> sequence;
  for (const Dump& dump : dumps) {
    if (dump.hook == "outer" && !dump.exit) {
      outer = dump.mmcr;
      ++instances[outer];
      sequence.push_back(outer);
    }
    // A signal may come between two outer segments; it is then outermost.
    if (dump.hook == "handler" && !dump.exit && dump.mmcr != outer) {
      sequence.push_back(dump.mmcr);
      outer = 3;
    }
    if (outer != 3 && dump.hook != "handler") CHECK(dump.mmcr == outer);
  }
  REQUIRE(instances.size() == 3);
  for (const auto& [set, count] : instances) {
    CAPTURE(set);
    CHECK(count > 170);
    CHECK(count < 230);
  }
  const std::vector<Rotation> rotations = Rotations(dumps);
  for (const Rotation& rotation : rotations) CHECK(rotation.depth == 0);
  // Every rotation is seen, also that of a set that follows itself, and each
  // round from the first on has every set twice.
  constexpr std::size_t kRound = 6;
  REQUIRE(rotations.size() >= 600);
  std::size_t follow = 0;
  for (std::size_t i = 1; i < rotations.size(); ++i) {
    follow += rotations[i].set == rotations[i - 1].set ? 1 : 0;
  }
  CHECK(follow > rotations.size() / 10);
  for (std::size_t i = 0; i + kRound <= rotations.size(); i += kRound) {
    std::map<std::uint32_t, int> sets;
    for (std::size_t at = i; at < i + kRound; ++at) ++sets[rotations[at].set];
    CHECK(sets == std::map<std::uint32_t, int>{{0, 2}, {1, 2}, {2, 2}});
  }
}

TEST_CASE(
    "sets at user hooks: a rotation lasts as long as it should, up to the next "
    "outermost segment") {
  constexpr std::uint64_t kRotationNs = 2'000'000;
  const auto dumps = Record(kRotationNs, {"nested", "3000", "20"});
  CheckValues(dumps);
  const std::vector<Rotation> rotations = Rotations(dumps);
  REQUIRE(rotations.size() > 10);
  std::set<std::uint32_t> seen;
  for (const Rotation& rotation : rotations) {
    CHECK(rotation.depth == 0);
    seen.insert(rotation.set);
  }
  // The first began with the thread. On a busy CPU each may be recorded late.
  CHECK(rotations.back().begin_ns - rotations[1].begin_ns >=
        (rotations.size() - 3) * kRotationNs);
  CHECK(seen.size() == 3);
}

TEST_CASE(
    "sets at user hooks: inside a main loop's segment its calls take "
    "rotations") {
  constexpr std::uint64_t kRotationNs = 500'000;
  const auto dumps = Record(kRotationNs, {"nested", "1", "30000"});
  CheckValues(dumps);
  const std::vector<Rotation> rotations = Rotations(dumps);
  REQUIRE(rotations.size() > 10);
  std::uint64_t calls = 0;
  for (std::size_t i = 1; i < rotations.size(); ++i)
    CHECK(rotations[i].depth >= 1);
  for (const Rotation& rotation : rotations) calls += rotation.calls;
  // All calls, except the segment of the program's whole life, and one that did
  // not run for so long that its rotation was overdue.
  std::uint64_t exits = 0;
  for (const Dump& dump : dumps) exits += dump.exit ? 1 : 0;
  CHECK(calls < exits);
  CHECK(calls >= exits - exits / 100);
}

}  // namespace
}  // namespace countrace::test
