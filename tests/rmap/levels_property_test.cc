// Levels against the simulated machine: what each thread, process and the
// machine had while one was up, added up instant by instant.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rmap/pipeline.h"
#include "rmap/result/limits.h"
#include "rmap/result/timeline_observer.h"
#include "tests/rmap/lost_records.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using logformat::LevelScope;
using test_support::kSimulatedEvents;
using test_support::PropertyRuns;
using test_support::Simulation;
using test_support::TrueInstant;

constexpr std::uint32_t kFirstId = 9000;
constexpr LevelScope kScopes[] = {LevelScope::kThread, LevelScope::kProcess,
                                  LevelScope::kMachine};

struct TrueLevel {
  bool up = false;
  std::uint64_t times = 0, up_ns = 0, on_cpu_ns = 0;
  test_support::SimulatedCounts counts{};
  std::vector<logformat::TimeSpan> ups;
  std::map<std::uint64_t, std::int32_t> changed_by;  // by time, the tid
};
// "thread", pid, tid: 0 where it is not of one.
using Key = std::tuple<std::string, std::int32_t, std::int32_t>;

Key KeyOf(LevelScope scope, const TrueInstant::Thread& thread) {
  return {LevelScopeName(scope), scope == LevelScope::kMachine ? 0 : thread.pid,
          scope == LevelScope::kThread ? thread.tid : 0};
}

const TrueInstant::Thread* Find(const TrueInstant& instant, std::int32_t tid) {
  for (const TrueInstant::Thread& thread : instant.threads) {
    if (thread.tid == tid) return &thread;
  }
  return nullptr;
}

// A program's hook can be hit here: the thread has run, and runs on, in user
// code.
bool CanHit(const TrueInstant& before, const TrueInstant::Thread& now) {
  const TrueInstant::Thread* const was = Find(before, now.tid);
  return was != nullptr && was->on_cpu && now.on_cpu && was->cpu == now.cpu &&
         std::ranges::all_of(now.open, [](const TrueInstant::Call& call) {
           return call.segment.starts_with("sim:");
         });
}

void AddHooks(test_support::MemoryTrace& trace) {
  for (std::uint32_t i = 0; i < 3; ++i) {
    trace.AddHook(kFirstId + i, logformat::HookKind::kPoint, "shop", "cold",
                  logformat::HookOrigin::kProgram,
                  {logformat::PayloadType::kUnsigned});
  }
  for (logformat::HookInfo& hook : trace.mutable_info().hooks) {
    if (hook.id >= kFirstId && hook.id < kFirstId + 3) {
      hook.level = kScopes[hook.id - kFirstId];
    }
  }
}

// Raises and lowers levels on random threads; fills `truth`.
void AddLevels(std::uint32_t seed, Simulation& run,
               std::map<Key, TrueLevel>& truth) {
  std::mt19937_64 random(seed);
  AddHooks(*run.trace);
  std::map<std::int32_t, const test_support::TrueThread*> last;
  for (const auto& thread : run.truth.threads) last[thread.tid] = &thread;
  const std::vector<TrueInstant>& instants = run.truth.instants;
  run.trace->mutable_info().begin_ns = instants.front().begin_ns;
  for (std::size_t i = 0; i < instants.size(); ++i) {
    const TrueInstant& now = instants[i];
    // The order of two changes of one level at one time is not known.
    std::set<Key> changed;
    for (const TrueInstant::Thread& thread : now.threads) {
      for (std::uint32_t n = 0; n < 3; ++n) {
        const Key key = KeyOf(kScopes[n], thread);
        if (i == 0 || !CanHit(instants[i - 1], thread) || random() % 12 != 0 ||
            !changed.insert(key).second) {
          continue;
        }
        const bool on = random() % 2 == 0;
        run.trace->HookRecord(now.begin_ns,
                              {.pid = thread.pid,
                               .tid = thread.tid,
                               .hook_id = kFirstId + n,
                               .payload = {on ? 1u + random() % 3 : 0u}});
        TrueLevel& level = truth[key];
        level.times += on && !level.up ? 1 : 0;
        level.changed_by[now.begin_ns] = thread.tid;
        level.up = on;
      }
    }
    const std::uint64_t length_ns = now.end_ns - now.begin_ns;
    for (auto& [key, level] : truth) {
      const auto& [scope, pid, tid] = key;
      bool lives = pid == 0;
      for (const TrueInstant::Thread& thread : now.threads) {
        const bool is_of =
            (pid == 0 || thread.pid == pid) && (tid == 0 || thread.tid == tid);
        if (!is_of) continue;
        lives = true;
        if (!level.up) continue;
        level.on_cpu_ns += thread.on_cpu ? length_ns : 0;
        const TrueInstant::Thread* const next =
            i + 1 < instants.size() ? Find(instants[i + 1], thread.tid)
                                    : nullptr;
        const auto& after =
            next != nullptr ? next->counts : last.at(thread.tid)->counts;
        for (std::size_t event = 0; event < kSimulatedEvents; ++event) {
          level.counts[event] += after[event] - thread.counts[event];
        }
      }
      level.up &= lives;
      level.up_ns += level.up ? length_ns : 0;
      if (level.up) level.ups.push_back({now.begin_ns, now.end_ns});
    }
  }
}

test_support::SimulationOptions MachineOf(std::uint32_t seed) {
  auto options = test_support::RandomOptions(seed);
  options.steps = 60 + seed % 200;
  options.instants = true;
  return options;
}

Bounds BoundsOf(const LevelRow& row, Number number, std::uint64_t value) {
  return row.bounds.Of(number).value_or(Bounds{value, value});
}

// Checks each row of a level against `truth`. Returns the number of rows.
std::uint64_t CheckRows(const Report& report, const Simulation& run,
                        std::map<Key, TrueLevel>& truth, bool exact) {
  std::uint64_t rows = 0;
  for (const LevelRow& row : report.levels) {
    // Two threads, which nothing separates once records are lost.
    const auto& reused = run.truth.reused_tids;
    if (!reused.empty()) continue;
    CAPTURE(row.scope, row.pid, row.tid);
    const TrueLevel& level = truth[{row.scope, row.pid, row.tid}];
    ++rows;
    const auto holds = [&](Number number, std::uint64_t value,
                           std::uint64_t is) {
      const Bounds bounds = BoundsOf(row, number, value);
      CAPTURE(NumberName(report.events, number), value, is, bounds.lo,
              bounds.hi);
      CHECK(bounds.lo <= is);
      CHECK(is <= bounds.hi);
      CHECK(bounds.lo <= value);
      CHECK(value <= bounds.hi);
    };
    holds(Number::kTimes, row.times, level.times);
    holds(Number::kUp, row.up_ns, level.up_ns);
    if (row.on_cpu_ns) holds(Number::kOnCpu, *row.on_cpu_ns, level.on_cpu_ns);
    for (std::size_t i = 0; i < kSimulatedEvents; ++i) {
      if (!row.counts[i]) continue;
      holds(CountNumber(i, CountPart::kWhole), *row.counts[i], level.counts[i]);
    }
    if (!exact) continue;
    CHECK(row.times == level.times);
    CHECK(row.up_ns == level.up_ns);
    CHECK(row.on_cpu_ns == level.on_cpu_ns);
  }
  return rows;
}

// What a timeline gets, by scope and owner.
class Shown final : public TimelineObserver {
 public:
  void OnLevel(const LevelSpan& span) override {
    auto& list = spans[{span.scope, span.owner}];
    CHECK(span.begin_ns >= least_ns);
    if (!list.empty()) CHECK(list.back().end_ns <= span.begin_ns);
    CHECK(span.begin_ns < span.end_ns);
    list.push_back(span);
  }
  std::map<std::pair<LevelScope, std::uint32_t>, std::vector<LevelSpan>> spans;
  std::uint64_t least_ns = 0;  // of any span: the trace's begin
};

std::uint64_t OverlapNs(const logformat::TimeSpan& up, const LevelSpan& span) {
  return Less(std::min(up.until_ns, span.end_ns),
              std::max(up.from_ns, span.begin_ns));
}

// A level that is shown as up was up; while it was, nothing shows it as down.
// Returns the time that it is known to be up.
std::uint64_t CheckShown(const std::vector<LevelSpan>& spans,
                         const TrueLevel& level, const Report& report) {
  std::uint64_t known_ns = 0, known_up_ns = 0, covered_ns = 0;
  for (const LevelSpan& span : spans) {
    CAPTURE(span.begin_ns, span.end_ns, span.known);
    known_ns += span.known ? span.end_ns - span.begin_ns : 0;
    for (const logformat::TimeSpan& up : level.ups) {
      covered_ns += OverlapNs(up, span);
      known_up_ns += span.known ? OverlapNs(up, span) : 0;
    }
    if (!span.known) continue;
    const auto by = level.changed_by.find(span.begin_ns);
    REQUIRE(by != level.changed_by.end());
    const auto thread =
        std::ranges::find(report.threads, span.by, &ThreadRow::index);
    REQUIRE(thread != report.threads.end());
    CHECK(thread->tid == by->second);
  }
  CHECK(known_up_ns == known_ns);
  CHECK(covered_ns == level.up_ns);
  return known_ns;
}

Key KeyOf(const Report& report, LevelScope scope, std::uint32_t owner) {
  Key key{LevelScopeName(scope), 0, 0};
  for (const ThreadRow& row : report.threads) {
    if (scope == LevelScope::kThread
            ? static_cast<std::uint32_t>(row.index) == owner
            : scope == LevelScope::kProcess &&
                  static_cast<std::uint32_t>(row.process) == owner) {
      key = {LevelScopeName(scope), row.pid,
             scope == LevelScope::kThread ? row.tid : 0};
    }
  }
  return key;
}

Report MustReconstruct(test_support::MemoryTrace& trace, TableRange range = {},
                       TimelineObserver* observer = nullptr) {
  auto report = Reconstruct(trace, {.observer = observer, .range = range});
  REQUIRE(report.ok());
  return *std::move(report);
}

}  // namespace

TEST_CASE("levels: time and counts while one is up are the machine's",
          "[rmap][property]") {
  std::uint64_t rows = 0, shown_rows = 0;
  const auto machines = static_cast<std::uint32_t>(PropertyRuns(2000));
  for (std::uint32_t seed = 0; seed < machines; ++seed) {
    CAPTURE(seed);
    Simulation run = Simulate(MachineOf(seed));
    std::map<Key, TrueLevel> truth;
    AddLevels(seed, run, truth);
    Shown shown;
    shown.least_ns = run.trace->info().begin_ns;
    const Report report = MustReconstruct(*run.trace, {}, &shown);
    rows += CheckRows(report, run, truth, /*exact=*/true);
    if (!run.truth.reused_tids.empty()) continue;
    for (const auto& [of, spans] : shown.spans) {
      const Key key = KeyOf(report, of.first, of.second);
      CAPTURE(std::get<0>(key), std::get<1>(key), std::get<2>(key));
      CHECK(CheckShown(spans, truth[key], report) == truth[key].up_ns);
      ++shown_rows;
    }
  }
  CHECK(rows > PropertyRuns(6000u));
  CHECK(shown_rows > PropertyRuns(4000u));
}

TEST_CASE("levels: limits hold the machine's whatever is lost",
          "[rmap][property]") {
  std::uint64_t rows = 0, known_ns = 0;
  const auto machines = static_cast<std::uint32_t>(PropertyRuns(2000));
  for (std::uint32_t seed = 0; seed < machines; ++seed) {
    CAPTURE(seed);
    Simulation run = Simulate(MachineOf(seed));
    std::map<Key, TrueLevel> truth;
    AddLevels(seed, run, truth);
    test_support::LostRecords lost(seed, *run.trace);
    run.trace->RemoveOf(lost);
    Shown shown;
    shown.least_ns = run.trace->info().begin_ns;
    const Report report = MustReconstruct(*run.trace, {}, &shown);
    rows += CheckRows(report, run, truth, /*exact=*/false);
    if (!run.truth.reused_tids.empty()) continue;
    for (const auto& [of, spans] : shown.spans) {
      const Key key = KeyOf(report, of.first, of.second);
      CAPTURE(std::get<0>(key), std::get<1>(key), std::get<2>(key));
      known_ns += CheckShown(spans, truth[key], report);
    }
  }
  CHECK(rows > PropertyRuns(3000u));
  CHECK(known_ns > PropertyRuns(1000u));
}

TEST_CASE("levels: the times of neighbouring ranges add up",
          "[rmap][property]") {
  const auto machines = static_cast<std::uint32_t>(PropertyRuns(300));
  for (std::uint32_t seed = 0; seed < machines; ++seed) {
    CAPTURE(seed);
    Simulation run = Simulate(MachineOf(seed));
    std::map<Key, TrueLevel> truth;
    AddLevels(seed, run, truth);
    const Report whole = MustReconstruct(*run.trace);
    const std::uint64_t middle_ns =
        whole.begin_ns + (whole.end_ns - whole.begin_ns) * (seed % 7 + 1) / 9;
    std::map<std::tuple<std::string, ProcessIndex, std::int32_t>,
             std::pair<std::uint64_t, std::uint64_t>>
        sums;
    for (const TableRange range : {TableRange{.until_ns = middle_ns},
                                   TableRange{.from_ns = middle_ns}}) {
      for (const LevelRow& row : MustReconstruct(*run.trace, range).levels) {
        auto& [up_ns, on_cpu_ns] = sums[{row.scope, row.process, row.tid}];
        up_ns += row.up_ns;
        on_cpu_ns += row.on_cpu_ns.value_or(0);
      }
    }
    for (const LevelRow& row : whole.levels) {
      CAPTURE(row.scope, row.pid, row.tid);
      if (!run.truth.reused_tids.empty()) continue;
      const auto& [up_ns, on_cpu_ns] = sums[{row.scope, row.process, row.tid}];
      CHECK(up_ns == row.up_ns);
      CHECK(on_cpu_ns == row.on_cpu_ns.value_or(0));
    }
  }
}

}  // namespace countrace::rmap
