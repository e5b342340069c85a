// Reconstruction against a machine whose truth is known, on random runs.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <tuple>

#include "rmap/pipeline.h"
#include "rmap/report/report_render.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using test_support::PropertyRuns;
using test_support::RandomOptions;
using test_support::Simulate;
using test_support::Simulation;
using test_support::SimulationOptions;
using test_support::TrueProcess;
using test_support::TrueSegment;
using test_support::TrueThread;
using test_support::Truth;

constexpr int kRuns = 2000;

Report MustReconstruct(logformat::TraceReader& reader,
                       TimelineObserver* observer = nullptr) {
  PipelineOptions options;
  options.observer = observer;
  auto report = Reconstruct(reader, options);
  REQUIRE(report.ok());
  return *std::move(report);
}

std::string Join(const std::vector<std::string>& path) {
  std::string out;
  for (const std::string& name : path) out += (out.empty() ? "" : " > ") + name;
  return out;
}

// A row of either source as numbers that can be sorted and compared. Serial
// numbers differ between the two, so that rows are compared as a multiset.
using ThreadKey = std::vector<std::uint64_t>;
ThreadKey KeyOf(const ThreadRow& row) {
  ThreadKey key = {static_cast<std::uint64_t>(row.pid),
                   static_cast<std::uint64_t>(row.tid),
                   row.on_cpu_ns.value(),
                   row.dispatches,
                   row.migrations,
                   row.wait_ns.value(),
                   row.throttled_ns.value_or(0),
                   row.blocked_ns.value_or(0)};
  for (const auto& count : row.counts) key.push_back(count.value());
  return key;
}
// Without wake-ups the blocked time is unknown.
ThreadKey KeyOf(const TrueThread& thread, bool wakeups) {
  ThreadKey key = {static_cast<std::uint64_t>(thread.pid),
                   static_cast<std::uint64_t>(thread.tid),
                   thread.on_cpu_ns,
                   thread.dispatches,
                   thread.migrations,
                   thread.wait_ns,
                   thread.throttled_ns,
                   wakeups ? thread.blocked_ns : 0};
  key.insert(key.end(), thread.counts.begin(), thread.counts.end());
  return key;
}

struct SegmentKey {
  std::int32_t pid;
  std::string name;
  std::vector<std::uint64_t> numbers;
  auto operator<=>(const SegmentKey&) const = default;
};
std::ostream& operator<<(std::ostream& out, const SegmentKey& key) {
  out << key.pid << " " << key.name << ":";
  for (const std::uint64_t number : key.numbers) out << " " << number;
  return out;
}

// True if calls of a path around this one, or of one directly inside, have an
// inferred end.
bool IsNearInferredEnd(const Report& report, const SegmentRow& row) {
  const auto holds = [](const SegmentRow& outer, const SegmentRow& inner) {
    return outer.path.size() < inner.path.size() &&
           std::equal(outer.path.begin(), outer.path.end(), inner.path.begin());
  };
  return std::any_of(report.segment_paths.begin(), report.segment_paths.end(),
                     [&](const SegmentRow& other) {
                       return other.process == row.process &&
                              other.end_inferred != 0 &&
                              (holds(other, row) ||
                               (holds(row, other) &&
                                other.path.size() == row.path.size() + 1));
                     });
}

bool HoldsInferredEnd(const Report& report, const SegmentRow& row) {
  return std::any_of(
      report.segment_paths.begin(), report.segment_paths.end(),
      [&](const SegmentRow& other) {
        return other.process == row.process && other.end_inferred != 0 &&
               row.path.size() < other.path.size() &&
               std::equal(row.path.begin(), row.path.end(), other.path.begin());
      });
}

SegmentKey KeyOf(const SegmentRow& row, const std::string& name) {
  return {
      row.pid,
      name,
      {row.calls, row.end_inferred, row.begin_inferred, row.wall.incl,
       row.wall.excl, row.on_cpu.value().incl, row.on_cpu.value().excl,
       row.off_cpu.value().incl, row.off_cpu.value().excl,
       row.counts.at(3).value().incl, row.counts.at(3).value().excl,
       row.counts.at(2).value().incl, row.counts.at(2).value().excl,
       row.wall.min, row.wall.max, row.wait.value().incl, row.wait.value().excl,
       row.blocked.value_or(InclusiveExclusive{}).incl,
       row.blocked.value_or(InclusiveExclusive{}).excl}};
}
SegmentKey KeyOf(std::int32_t pid, const std::string& name,
                 const TrueSegment& sums, bool wakeups) {
  const auto [min, max] =
      std::minmax_element(sums.durations.begin(), sums.durations.end());
  return {pid,
          name,
          {sums.calls, sums.end_inferred, 0, sums.wall_incl, sums.wall_excl,
           sums.on_cpu_incl, sums.on_cpu_excl,
           sums.wall_incl - sums.on_cpu_incl, sums.wall_excl - sums.on_cpu_excl,
           sums.switches_incl, sums.switches_excl, sums.faults_incl,
           sums.faults_excl, *min, *max, sums.wait_incl, sums.wait_excl,
           wakeups ? sums.blocked_incl : 0, wakeups ? sums.blocked_excl : 0}};
}

template <typename Key>
std::vector<Key> Sorted(std::vector<Key> keys) {
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::vector<SegmentKey> TrueKeys(const Truth& truth, bool by_path,
                                 bool wakeups) {
  std::vector<SegmentKey> keys;
  for (const TrueProcess& process : truth.processes) {
    for (const auto& [name, sums] :
         by_path ? process.by_path : process.by_segment) {
      keys.push_back(KeyOf(process.pid, name, sums, wakeups));
    }
  }
  return Sorted(std::move(keys));
}

// Cycles of a segment come only from dumps at kernel hooks: checks those.
void CheckCycles(const SegmentRow& row, const Truth& truth,
                 const SimulationOptions& options) {
  const bool dumped = options.dumps && row.segment.rfind("sim:", 0) != 0;
  if (!dumped) {
    CHECK_FALSE(row.counts[4].has_value());
    return;
  }
  if (!row.counts[4]) return;  // no call ended with a dump
  if (row.counts[4]->quality != Quality::kExact) return;
  const std::string name = Join(row.path);
  CAPTURE(name);
  CHECK(std::any_of(truth.processes.begin(), truth.processes.end(),
                    [&](const TrueProcess& process) {
                      const auto found = process.by_path.find(name);
                      return process.pid == row.pid &&
                             found != process.by_path.end() &&
                             found->second.cycles_incl == row.counts[4]->incl &&
                             found->second.cycles_excl == row.counts[4]->excl;
                    }));
}

TEST_CASE("reconstruction: tables of a random machine equal its truth exactly",
          "[rmap][property]") {
  const auto seed =
      static_cast<std::uint32_t>(GENERATE(range(0, PropertyRuns(kRuns))));
  CAPTURE(seed);
  const SimulationOptions options = RandomOptions(seed);
  // Where interrupts cut intervals without a dump, cycles cannot be attributed;
  // everything else can.
  const bool cycles_known = !options.interrupts || options.dumps;
  Simulation run = Simulate(options);
  const Report report = MustReconstruct(*run.trace);

  CHECK(report.records == run.trace->size());
  CHECK(report.loss.messages.empty());
  CHECK(report.loss.discarded_events == 0);

  std::vector<ThreadKey> threads, true_threads;
  for (const ThreadRow& row : report.threads) {
    threads.push_back(KeyOf(row));
    if (!cycles_known) threads.back().pop_back();
    if (cycles_known) CHECK(row.quality == Quality::kExact);
  }
  for (const TrueThread& thread : run.truth.threads) {
    // The first process of a command has no row until it runs.
    if (report.scope == "command" && thread.dispatches == 0 &&
        &thread == &run.truth.threads.front()) {
      continue;
    }
    true_threads.push_back(KeyOf(thread, report.wakeups));
    if (!cycles_known) true_threads.back().pop_back();
  }
  CHECK(Sorted(std::move(threads)) == Sorted(std::move(true_threads)));

  std::vector<SegmentKey> segments, paths;
  for (const SegmentRow& row : report.segments) {
    segments.push_back(KeyOf(row, row.segment));
  }
  for (const SegmentRow& row : report.segment_paths) {
    paths.push_back(KeyOf(row, Join(row.path)));
    // Before the end of a call that was left is noticed, others may be recorded
    // inside it, and its time is missing around it.
    const bool in_doubt =
        row.quality == Quality::kInferred && IsNearInferredEnd(report, row);
    const Quality quality = row.end_inferred == 0 && !in_doubt
                                ? Quality::kExact
                                : Quality::kInferred;
    CHECK(row.quality == quality);
    // What was counted in a call without an end may lie outside of it: times of
    // the calls around have limits.
    if (row.on_cpu_quality != quality) {
      CHECK(row.on_cpu_quality == Quality::kBounded);
      CHECK(HoldsInferredEnd(report, row));
    }
    CHECK(row.counts[2]->quality == quality);
    CheckCycles(row, run.truth, options);
  }
  CHECK(Sorted(std::move(segments)) ==
        TrueKeys(run.truth, false, report.wakeups));
  CHECK(Sorted(std::move(paths)) == TrueKeys(run.truth, true, report.wakeups));

  std::uint64_t sum_ns = 0;
  REQUIRE(report.cpu_rows.size() == run.truth.busy_ns.size());
  for (std::size_t cpu = 0; cpu < report.cpu_rows.size(); ++cpu) {
    const CpuRow& row = report.cpu_rows[cpu];
    CHECK(row.busy_ns == run.truth.busy_ns[cpu]);
    CHECK(row.interrupts_ns == run.truth.interrupts_ns[cpu]);
    CHECK(row.idle_ns == run.truth.idle_ns[cpu]);
    CHECK(row.outside_ns == run.truth.outside_ns[cpu]);
    CHECK(row.unattributed_ns == 0);
    sum_ns += row.busy_ns + row.idle_ns + row.interrupts_ns + row.outside_ns;
  }
  CHECK(sum_ns == run.truth.duration_ns * report.cpu_rows.size());

  REQUIRE(report.books.size() == test_support::kSimulatedEvents);
  for (std::size_t i = 0; i < report.books.size(); ++i) {
    CAPTURE(report.events[i].name);
    const Books& books = report.books[i];
    if (i == 4 && !cycles_known) {
      CHECK(books.total == run.truth.total[i]);
      CHECK(books.processes <= run.truth.processes_total[i]);
      CHECK(books.interrupts <= run.truth.interrupts_total[i]);
      CHECK(books.residual == 0);
      continue;
    }
    // The last switch's own count can come after the last dump: the machine
    // counts it in the following interval, as the kernel does.
    CHECK(books.total == run.truth.total[i]);
    CHECK(books.processes == run.truth.processes_total[i]);
    CHECK(books.idle == run.truth.idle_total[i]);
    CHECK(books.outside == run.truth.outside_total[i]);
    CHECK(books.interrupts == run.truth.interrupts_total[i]);
    CHECK(books.unattributed == 0);
    CHECK(books.residual == 0);
  }
  CHECK(report.books[2].in_segments == run.truth.faults_in_segments);
  CHECK(report.books[0].in_segments == run.truth.on_cpu_in_segments);
}

TEST_CASE("statistics: moments and percentiles agree with brute force",
          "[rmap][property]") {
  const auto seed =
      static_cast<std::uint32_t>(GENERATE(range(0, PropertyRuns(40))));
  CAPTURE(seed);
  SimulationOptions options = RandomOptions(seed);
  options.steps = 3000;
  options.command_scope = false;  // a command can end early
  Simulation run = Simulate(options);
  const Report report = MustReconstruct(*run.trace);
  std::size_t compared = 0;
  for (const SegmentRow& row : report.segments) {
    std::vector<const TrueSegment*> same;
    for (const TrueProcess& process : run.truth.processes) {
      const auto found = process.by_segment.find(row.segment);
      if (process.pid == row.pid && found != process.by_segment.end()) {
        same.push_back(&found->second);
      }
    }
    if (same.size() != 1) continue;  // a reused pid is ambiguous
    std::vector<std::uint64_t> values = same[0]->durations;
    std::sort(values.begin(), values.end());
    const auto count = static_cast<double>(values.size());
    double sum = 0, squares = 0;
    for (const auto value : values) sum += static_cast<double>(value);
    for (const auto value : values) {
      const double off = static_cast<double>(value) - sum / count;
      squares += off * off;
    }
    CHECK(row.wall.mean == Approx(sum / count).epsilon(1e-12));
    CHECK(row.wall.stddev ==
          Approx(std::sqrt(squares / count)).epsilon(1e-9).margin(1e-6));
    const auto check = [&](std::uint64_t value, double fraction) {
      const auto rank = static_cast<std::size_t>(std::ceil(fraction * count));
      const auto exact = static_cast<double>(values[rank - 1]);
      CAPTURE(row.segment, row.pid, fraction, exact, value);
      CHECK(std::abs(static_cast<double>(value) - exact) <= exact * 0.01);
    };
    check(row.wall.p50, 0.50);
    check(row.wall.p90, 0.90);
    check(row.wall.p99, 0.99);
    ++compared;
  }
  CHECK(compared > 0);
}

void CheckBalance(const Report& report) {
  for (const CpuRow& row : report.cpu_rows) {
    CHECK(row.wall_ns == row.busy_ns + row.idle_ns + row.interrupts_ns +
                             row.outside_ns + row.unattributed_ns);
  }
  for (std::size_t i = 0; i < report.books.size(); ++i) {
    const Books& books = report.books[i];
    CHECK(books.residual == 0);
    CHECK(books.in_segments.value_or(0) <= books.processes);
    std::uint64_t threads = 0, processes = 0;
    for (const ThreadRow& row : report.threads) {
      threads += row.counts[i].value_or(0);
    }
    for (const ProcessRow& row : report.processes) {
      processes += row.counts[i].value_or(0);
    }
    CHECK(threads == books.processes);
    CHECK(processes == books.processes);
  }
  for (const auto* rows : {&report.segments, &report.segment_paths}) {
    for (const SegmentRow& row : *rows) {
      CAPTURE(row.segment, row.pid);
      CHECK(row.wall.excl <= row.wall.incl);
      CHECK(row.on_cpu->incl <= row.wall.incl);
      CHECK(row.on_cpu->excl <= row.on_cpu->incl);
    }
  }
}

// Rows that claim to be exact, by key: each must be true.
void CheckExactRowsAreTrue(const Report& report, const Truth& truth) {
  const std::vector<SegmentKey> keys = TrueKeys(truth, true, report.wakeups);
  for (const SegmentRow& row : report.segment_paths) {
    if (row.quality != Quality::kExact ||
        row.on_cpu_quality != Quality::kExact) {
      continue;
    }
    if (!row.counts.at(2)) continue;  // all fault records were lost
    const SegmentKey key = KeyOf(row, Join(row.path));
    CAPTURE(key);
    CHECK(std::binary_search(keys.begin(), keys.end(), key));
  }
  for (const ThreadRow& row : report.threads) {
    if (row.quality != Quality::kExact) continue;
    const ThreadKey key = KeyOf(row);
    CAPTURE(row.tid, row.pid, key);
    CHECK(std::any_of(truth.threads.begin(), truth.threads.end(),
                      [&](const TrueThread& thread) {
                        return KeyOf(thread, report.wakeups) == key;
                      }));
  }
}

TEST_CASE("loss: counted losses keep the books balanced and nothing exact lies",
          "[rmap][property][loss]") {
  const auto seed =
      static_cast<std::uint32_t>(GENERATE(range(0, PropertyRuns(kRuns))));
  CAPTURE(seed);
  Simulation run = Simulate(RandomOptions(seed));
  std::mt19937 random(seed);
  // From one record in a hundred to one in three, single or in runs.
  const std::uint32_t every = 3 + seed % 97;
  std::uint32_t burst = 0;
  const std::uint64_t removed = run.trace->Remove(
      [&](std::size_t) {
        if (burst != 0) return --burst, true;
        if (random() % every != 0) return false;
        burst = seed % 3 == 0 ? random() % 8 : 0;
        return true;
      },
      /*declare=*/true);
  const Report report = MustReconstruct(*run.trace);
  CHECK(report.loss.discarded_events == removed);
  CHECK(report.loss.messages.empty() == (removed == 0));
  CheckBalance(report);
  CheckExactRowsAreTrue(report, run.truth);
}

TEST_CASE("loss: records missing without a word break neither books nor rmap",
          "[rmap][property][loss]") {
  const auto seed =
      static_cast<std::uint32_t>(GENERATE(range(0, PropertyRuns(kRuns))));
  CAPTURE(seed);
  Simulation run = Simulate(RandomOptions(seed));
  std::mt19937 random(seed);
  const std::uint32_t every = 2 + seed % 30;
  run.trace->Remove([&](std::size_t) { return random() % every == 0; },
                    /*declare=*/false);
  CheckBalance(MustReconstruct(*run.trace));
}

TEST_CASE("read in runs or record by record: the same report, byte for byte",
          "[rmap][property]") {
  const auto seed =
      static_cast<std::uint32_t>(GENERATE(range(0, PropertyRuns(60))));
  CAPTURE(seed);
  SimulationOptions options = RandomOptions(seed);
  options.steps = 3000;
  Simulation run = Simulate(options);
  if (seed % 2 == 1) {
    std::mt19937 random(seed);
    run.trace->Remove([&](std::size_t) { return random() % 50 == 0; },
                      /*declare=*/true);
  }
  TimelineObserver observer;
  const auto runs = Reconstruct(*run.trace, {});
  const auto records = Reconstruct(*run.trace, {.observer = &observer});
  REQUIRE(runs.ok());
  REQUIRE(records.ok());
  CHECK(RenderReport(*runs, {.format = ReportFormat::kJson}) ==
        RenderReport(*records, {.format = ReportFormat::kJson}));
}

// The observer must see the same machine as the tables.
class Sums final : public TimelineObserver {
 public:
  void OnTime(const AttributedTime& attributed) override {
    CHECK(attributed.begin_ns < attributed.end_ns);
    std::uint64_t& last = last_end_of_cpu_[attributed.cpu];
    if (last != 0) CHECK(attributed.begin_ns == last);  // no gap
    last = attributed.end_ns;
    time_[{attributed.cpu, attributed.account}] +=
        attributed.end_ns - attributed.begin_ns;
    CHECK((attributed.thread != kNoThread) ==
          (attributed.account == Account::kProcesses));
    if (attributed.thread != kNoThread) {
      attributed_ns_[attributed.thread] +=
          attributed.end_ns - attributed.begin_ns;
    }
  }
  void OnCounts(const AttributedCount& attributed) override {
    CHECK(attributed.begin_ns <= attributed.end_ns);
    CHECK(attributed.count != 0);
    counts_[{attributed.event, attributed.account}] += attributed.count;
    if (attributed.thread != kNoThread) {
      attributed_counts_[{attributed.event, attributed.thread}] +=
          attributed.count;
    }
  }
  void OnDispatch(const DispatchSpan& span) override {
    CHECK(span.begin_ns <= span.end_ns);
    CHECK(span.begin_ns >=
          last_end_[span.cpu]);  // one dispatch at a time on a CPU
    last_end_[span.cpu] = span.end_ns;
    if (span.thread == kNoThread) return;
    on_cpu_ns_[span.thread] += span.end_ns - span.begin_ns - span.interrupts_ns;
    if (!span.counts.empty()) faults_[span.thread] += span.counts[2];
  }
  void OnSegment(const SegmentSpan& span) override {
    CHECK(span.begin_ns <= span.end_ns);
    ++segments_;
  }
  void OnInterrupt(const InterruptSpan& span) override {
    CHECK(span.begin_ns <= span.end_ns);
    ++segments_;
  }
  void OnWait(const WaitSpan& span) override {
    CHECK(span.begin_ns < span.end_ns);
    wait_ns_[span.thread] += span.end_ns - span.begin_ns;
  }
  std::map<std::uint32_t, std::uint64_t> last_end_, last_end_of_cpu_;
  std::map<ThreadIndex, std::uint64_t> on_cpu_ns_, faults_, wait_ns_,
      attributed_ns_;
  std::map<std::pair<std::uint32_t, Account>, std::uint64_t> time_, counts_;
  std::map<std::pair<std::uint32_t, ThreadIndex>, std::uint64_t>
      attributed_counts_;
  std::uint64_t segments_ = 0;
};

// By CPU for time, by event for counts.
std::uint64_t AttributedInterval(
    std::map<std::pair<std::uint32_t, Account>, std::uint64_t>& sums,
    std::size_t of, Account account) {
  return sums[{static_cast<std::uint32_t>(of), account}];
}

// The attributed amounts add up to the books, whatever was lost.
void CheckAttribution(const Report& report, Sums& sums) {
  for (const CpuRow& row : report.cpu_rows) {
    CHECK(AttributedInterval(sums.time_, row.cpu, Account::kProcesses) ==
          row.busy_ns);
    CHECK(AttributedInterval(sums.time_, row.cpu, Account::kIdle) ==
          row.idle_ns);
    CHECK(AttributedInterval(sums.time_, row.cpu, Account::kInterrupts) ==
          row.interrupts_ns);
    CHECK(AttributedInterval(sums.time_, row.cpu, Account::kOutside) ==
          row.outside_ns);
    CHECK(AttributedInterval(sums.time_, row.cpu, Account::kUnattributed) ==
          row.unattributed_ns);
  }
  for (std::size_t event = 0; event < report.books.size(); ++event) {
    const Books& books = report.books[event];
    CHECK(AttributedInterval(sums.counts_, event, Account::kProcesses) ==
          books.processes);
    CHECK(AttributedInterval(sums.counts_, event, Account::kIdle) ==
          books.idle);
    CHECK(AttributedInterval(sums.counts_, event, Account::kInterrupts) ==
          books.interrupts);
    CHECK(AttributedInterval(sums.counts_, event, Account::kOutside) ==
          books.outside);
    CHECK(AttributedInterval(sums.counts_, event, Account::kUnattributed) ==
          books.unattributed);
  }
  for (const ThreadRow& row : report.threads) {
    CHECK(sums.attributed_ns_[row.index] == row.on_cpu_ns.value_or(0));
    // Absent: it ran, but no known dispatch ends its wait.
    if (row.wait_ns) CHECK(sums.wait_ns_[row.index] == *row.wait_ns);
    for (std::size_t event = 0; event < row.counts.size(); ++event) {
      CHECK(sums.attributed_counts_[{static_cast<std::uint32_t>(event),
                                     row.index}] ==
            row.counts[event].value_or(0));
    }
  }
}

TEST_CASE("observer: spans add up to the tables", "[rmap][property]") {
  const auto seed =
      static_cast<std::uint32_t>(GENERATE(range(0, PropertyRuns(60))));
  CAPTURE(seed);
  Simulation run = Simulate(RandomOptions(seed));
  Sums sums;
  const Report report = MustReconstruct(*run.trace, &sums);
  CheckAttribution(report, sums);
  for (const ThreadRow& row : report.threads) {
    CHECK(sums.on_cpu_ns_[row.index] == row.on_cpu_ns);
    CHECK(sums.faults_[row.index] == row.counts[2]);
  }
  std::uint64_t calls = 0;
  for (const SegmentRow& row : report.segments) calls += row.calls;
  CHECK(sums.segments_ == calls);
}

TEST_CASE("observer: attributed parts are the books, records lost or not",
          "[rmap][property]") {
  const auto seed =
      static_cast<std::uint32_t>(GENERATE(range(0, PropertyRuns(200))));
  const bool declare = GENERATE(false, true);
  CAPTURE(seed, declare);
  Simulation run = Simulate(RandomOptions(seed));
  std::mt19937 random(seed);
  run.trace->Remove([&](std::size_t) { return random() % 20 == 0; }, declare);
  Sums sums;
  const Report report = MustReconstruct(*run.trace, &sums);
  CheckAttribution(report, sums);
}

}  // namespace
}  // namespace countrace::rmap
