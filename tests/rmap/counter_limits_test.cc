// Counters that wrap, are reset, or stop with their CPU: numbers to check by
// hand, and random machines whose truth is known.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "rmap/counters/counter_extension.h"
#include "rmap/over_time/over_time.h"
#include "rmap/pipeline.h"
#include "rmap/report/report_render.h"
#include "tests/rmap/memory_trace.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using logformat::CounterLimit;
using logformat::CountersReason;
using test_support::MemoryTrace;
using test_support::PropertyRuns;
using test_support::RandomOptions;
using test_support::Simulate;
using test_support::Simulation;
using test_support::SimulationOptions;
using test_support::TrueThread;
using test_support::Truth;

constexpr std::uint64_t kSecond = 1'000'000'000;
// The POWER2's: 2^32 / 66 MHz = 65.0753 s.
constexpr CounterLimit kPower2 = {32, 66'000'000};

Report MustReconstruct(logformat::TraceReader& reader) {
  auto report = Reconstruct(reader, {});
  INFO(report.status().ToString());
  REQUIRE(report.ok());
  return *std::move(report);
}

bool Says(const Report& report, const std::string& what) {
  return std::any_of(report.loss.messages.begin(), report.loss.messages.end(),
                     [&](const std::string& message) {
                       return message.find(what) != std::string::npos;
                     });
}

// One CPU, cycles: thread 7 from the begin to the first of `values`, then 8,
// then 7 again, and so on; the last value is the end's.
struct Value {
  std::uint64_t time_ns, value;
};
Report ReportOf(const CounterLimit& limit, const std::vector<Value>& values) {
  MemoryTrace trace;
  trace.mutable_info().scope = logformat::SessionScope::kSystem;
  trace.mutable_info().cpus = 1;
  trace.mutable_info().cpu_events = {"cycles"};
  if (limit.any()) trace.mutable_info().cpu_counter_limits = {limit};
  std::uint32_t runs = 7;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& [time_ns, value] = values[i];
    if (i == 0 || i + 1 == values.size()) {
      trace.Dump(time_ns, 0,
                 i == 0 ? CountersReason::kBegin : CountersReason::kEnd, runs,
                 {value});
      continue;
    }
    trace.Dispatch(time_ns, 0, runs, 15 - runs, 0, {value});
    runs = 15 - runs;
  }
  return MustReconstruct(trace);
}

const ThreadRow& RowOf(const Report& report, std::int32_t tid) {
  const auto row =
      std::find_if(report.threads.begin(), report.threads.end(),
                   [tid](const ThreadRow& r) { return r.tid == tid; });
  REQUIRE(row != report.threads.end());
  return *row;
}

TEST_CASE("wrap time: the POWER2's is 65.0753 s", "[rmap]") {
  // 4294967296 / 66000000 = 65.07526206...
  CHECK(kPower2.WrapNs() == 65'075'262'060u);
  // N01: at 195 MHz, as on the R10000, 22.0255 s.
  CHECK(CounterLimit{32, 195'000'000}.WrapNs() == 22'025'473'312u);
  CHECK(CounterLimit{40, 66'000'000}.WrapNs() == 16'659'267'087'515u);
  CHECK(CounterLimit{48, 5 * kSecond}.WrapNs() == 56'294'995'342'131u);
  // Longer than ns in 64 bits can express.
  CHECK(CounterLimit{63, 1'000'000}.WrapNs() == std::nullopt);
  CHECK(CounterLimit{64, kSecond}.WrapNs() == std::nullopt);
  CHECK(CounterLimit{32, 0}.WrapNs() == std::nullopt);
  CHECK(CounterLimit{63, 0}.mask() == 0x7fffffffffffffffu);
}

TEST_CASE("wrap: a delta is taken modulo 2^width", "[rmap]") {
  const auto width = GENERATE(32u, 40u, 48u, 63u);
  CAPTURE(width);
  const CounterLimit limit = {width, kSecond};
  const std::uint64_t end = limit.mask() + 1;
  const Report report =
      ReportOf(limit, {{0, end - 300}, {1000, 700}, {2000, 750}, {3000, 800}});
  CHECK(RowOf(report, 7).counts[0] == 1050u);
  CHECK(RowOf(report, 7).quality == Quality::kExact);
  CHECK(RowOf(report, 8).counts[0] == 50u);
  CHECK(report.books[0].total == 1100);
  CHECK(report.books[0].residual == 0);
  CHECK_FALSE(report.books[0].doubt.any());
  CHECK(report.loss.messages.empty());
}

TEST_CASE("wrap: in the interval that the end of a range cuts", "[rmap]") {
  MemoryTrace trace;
  trace.mutable_info().scope = logformat::SessionScope::kSystem;
  trace.mutable_info().cpus = 1;
  trace.mutable_info().cpu_events = {"cycles"};
  trace.mutable_info().cpu_counter_limits = {{32, kSecond}};
  trace.Dump(0, 0, CountersReason::kBegin, 7, {(std::uint64_t{1} << 32) - 300});
  trace.Dispatch(1000, 0, 7, 8, 0, {700});
  trace.Dump(2000, 0, CountersReason::kEnd, 8, {750});
  const auto report = Reconstruct(trace, {.range = {.until_ns = 500}});
  REQUIRE(report.ok());
  CHECK(report->books[0].doubt.cut_counts == 1000);
  CHECK(report->books[0].doubt.went_back_intervals == 0);
  const auto cycles =
      RowOf(*report, 7).bounds.Of(CountNumber(0, CountPart::kWhole));
  REQUIRE(cycles);
  CHECK(cycles->hi == 1000);
}

TEST_CASE("wrap: a gap of more than 65.0753 s is flagged, with the interval",
          "[rmap]") {
  // Exact up to the time in which it can wrap, but not 1 ns longer.
  const std::uint64_t wrap_ns = *kPower2.WrapNs();
  const Report exact =
      ReportOf(kPower2, {{0, 5}, {wrap_ns, 4}, {wrap_ns + kSecond, 1000}});
  CHECK(RowOf(exact, 7).counts[0] == 4294967295u);
  CHECK(RowOf(exact, 7).quality == Quality::kExact);
  CHECK(exact.loss.messages.empty());

  const Report gap = ReportOf(kPower2, {{0, 5},
                                        {kSecond, 66'000'005},
                                        {kSecond + wrap_ns + 1, 66'000'105},
                                        {2 * kSecond + wrap_ns, 132'000'105}});
  // 8 ran during the gap: 100, or 2^32 more.
  CHECK(RowOf(gap, 8).counts[0] == 100u);
  CHECK(RowOf(gap, 8).quality == Quality::kBounded);
  CHECK(RowOf(gap, 7).counts[0] == 132'000'000u);
  CHECK(RowOf(gap, 7).quality == Quality::kExact);
  const Books& books = gap.books[0];
  CHECK(books.total == 132'000'100u);
  CHECK(books.residual == 0);
  CHECK(books.doubt.wrapped_intervals == 1);
  CHECK(books.doubt.wrapped_ns == wrap_ns + 1);
  CHECK(books.doubt.went_back_intervals == 0);
  CHECK(Says(gap, "may have wrapped more than once"));
  CHECK(Says(gap, "65.0753 s"));
  CHECK(Says(gap, "on cpu 0 from 1000000000 to 66075262061 ns"));
  const std::string text = RenderReport(gap, {});
  CHECK(text.find("(cycles: lower bounds; its counter may have wrapped more "
                  "than once in 65.1 s of CPU time)") != std::string::npos);
  const std::string json = RenderReport(gap, {.format = ReportFormat::kJson});
  CHECK(json.find("\"wrapped_ns\": 65075262061") != std::string::npos);
}

TEST_CASE("wrap: without a rate each wrap may be more than one", "[rmap]") {
  const Report report =
      ReportOf({32, 0}, {{0, 4294967290}, {kSecond, 10}, {2 * kSecond, 30}});
  CHECK(RowOf(report, 7).counts[0] == 16u);
  CHECK(RowOf(report, 7).quality == Quality::kBounded);
  CHECK(RowOf(report, 8).counts[0] == 20u);
  CHECK(RowOf(report, 8).quality == Quality::kExact);
  CHECK(Says(report, "the trace does not say how fast it can count"));
}

TEST_CASE("reset: what no wrap explains is unknown, not 0 and not 2^32",
          "[rmap]") {
  // 10 ms can count 660,000; back from 5,000,000 to 0 would be 4,289,967,296.
  const Report report = ReportOf(kPower2, {{0, 0},
                                           {kSecond, 5'000'000},
                                           {kSecond + 10'000'000, 0},
                                           {kSecond + 20'000'000, 600'000}});
  CHECK(RowOf(report, 7).counts[0] == 5'600'000u);
  CHECK(RowOf(report, 7).quality == Quality::kExact);
  CHECK(RowOf(report, 8).counts[0] == 0u);
  CHECK(RowOf(report, 8).quality == Quality::kBounded);
  CHECK(report.books[0].residual == 0);
  CHECK(report.books[0].doubt.went_back_intervals == 1);
  CHECK(report.books[0].doubt.went_back_ns == 10'000'000);
  CHECK(Says(report,
             "went from 5000000 to 0 on cpu 0 from 1000000000 to "
             "1010000000 ns"));
  // The same for a counter of 64 bits without a stated limit.
  const Report wide = ReportOf(
      {}, {{0, 500}, {kSecond, 1500}, {2 * kSecond, 20}, {3 * kSecond, 50}});
  CHECK(RowOf(wide, 7).counts[0] == 1030u);
  CHECK(RowOf(wide, 7).quality == Quality::kExact);
  CHECK(RowOf(wide, 8).counts[0] == 0u);
  CHECK(RowOf(wide, 8).quality == Quality::kBounded);
  CHECK(wide.books[0].total == 1030u);
  CHECK(wide.books[0].residual == 0);
  CHECK(wide.books[0].doubt.went_back_intervals == 1);
  CHECK(Says(wide, "went from 1500 to 20"));
  // Set ahead by more than it could count.
  const Report ahead =
      ReportOf({64, 66'000'000}, {{0, 0},
                                  {kSecond, 66'000'000},
                                  {2 * kSecond, 1ull << 40},
                                  {3 * kSecond, (1ull << 40) + 5}});
  CHECK(RowOf(ahead, 7).counts[0] == 66'000'005u);
  CHECK(RowOf(ahead, 8).quality == Quality::kBounded);
  CHECK(ahead.books[0].total == 66'000'005u);
}

TEST_CASE("wrap: with an unsure time on either side it may be more than one",
          "[rmap]") {
  CounterExtension extension({kPower2}, 1, MeasureSet());
  std::uint64_t value = 0;
  logformat::EventRecord dump{};
  dump.stream_class = logformat::StreamClass::kCpu;
  dump.counters = &value;
  dump.present = 1;
  const auto wraps_at = [&](std::uint64_t time_ns, bool sure) {
    // 4.2e9 more, and so less in 32 bits.
    value = (value + 4'200'000'000) & 0xffff'ffffu;
    extension.Extend(dump, MeasureSet(dump.present), time_ns, sure);
    return !extension.doubted().empty();
  };
  CHECK_FALSE(wraps_at(64 * kSecond, true));  // the first one
  CHECK_FALSE(wraps_at(128 * kSecond, true));
  CHECK(wraps_at(192 * kSecond, false));
  CHECK(wraps_at(256 * kSecond, true));
  CHECK_FALSE(wraps_at(320 * kSecond, true));
}

TEST_CASE("wrap: a segment's own dumps, at user hooks", "[rmap]") {
  MemoryTrace trace;
  trace.mutable_info().scope = logformat::SessionScope::kHooksOnly;
  trace.mutable_info().thread_events = {"cycles"};
  trace.mutable_info().thread_counter_limits = {kPower2};
  trace.AddHook(4096, logformat::HookKind::kSegment, "a", "b");
  const auto call = [&](std::uint64_t begin_ns, std::uint64_t end_ns,
                        std::uint64_t from, std::uint64_t to) {
    trace.HookRecord(begin_ns, {7, 7, 4096, false},
                     test_support::HookDump{0, 1, {from}});
    trace.HookRecord(end_ns, {7, 7, 4096, true},
                     test_support::HookDump{0, 1, {to}});
  };
  call(kSecond, 2 * kSecond, 4294967000, 704);
  Report report = MustReconstruct(trace);
  REQUIRE(report.segments.size() == 1);
  REQUIRE(report.segments[0].counts[0]);
  CHECK(report.segments[0].counts[0]->incl == 1000);
  CHECK(report.segments[0].counts[0]->quality == Quality::kExact);
  // A call of 70 s: its count is unknown.
  call(3 * kSecond, 73 * kSecond, 800, 900);
  report = MustReconstruct(trace);
  CHECK(report.segments[0].calls == 2);
  CHECK(report.segments[0].counts[0]->incl == 1000);
  CHECK(report.segments[0].counts[0]->quality == Quality::kBounded);
  CHECK(Says(report, "on tid 7 from 3000000000 to 73000000000 ns"));
}

TEST_CASE("MMCR: no delta reaches from one to the next", "[rmap]") {
  const bool narrow = GENERATE(false, true);
  MemoryTrace trace;
  trace.mutable_info().scope = logformat::SessionScope::kSystem;
  trace.mutable_info().cpus = 1;
  trace.mutable_info().cpu_events = {"cycles"};
  if (narrow) trace.mutable_info().cpu_counter_limits = {kPower2};
  trace.SetEventSet(0, 0x1234);
  trace.Dump(0, 0, CountersReason::kBegin, 7, {100});
  trace.Dispatch(1'000'000, 0, 7, 8, 0, {300});
  // Another program sets other events while 8 runs.
  trace.SetEventSet(0, 0x1235);
  trace.Dispatch(2'000'000, 0, 8, 9, 0, {1000});
  trace.Dispatch(3'000'000, 0, 9, 7, 0, {1050});
  trace.Dump(4'000'000, 0, CountersReason::kEnd, 7, {1057});
  const Report report = MustReconstruct(trace);
  CHECK(RowOf(report, 7).counts[0] == 207u);
  CHECK(RowOf(report, 7).quality == Quality::kExact);
  CHECK(RowOf(report, 8).counts[0] == 0u);
  CHECK(RowOf(report, 8).quality == Quality::kBounded);
  CHECK(RowOf(report, 9).counts[0] == 50u);
  CHECK(RowOf(report, 9).quality == Quality::kExact);
  CHECK(report.books[0].total == 257);
  CHECK(report.books[0].residual == 0);
  CHECK(report.books[0].doubt.other_mmcr_intervals == 1);
  CHECK(report.books[0].doubt.other_mmcr_ns == 1'000'000);
  CHECK(report.books[0].doubt.went_back_intervals == 0);
  CHECK(Says(report,
             "the MMCR changed in 1 intervals (the longest from 4660 to 4661"));
  const std::string text = RenderReport(report, {});
  CHECK(text.find("counted something else after 1.00 ms of CPU time") !=
        std::string::npos);
}

TEST_CASE("wrap: over time the event has bounds", "[rmap]") {
  const std::uint64_t wrap_ns = *kPower2.WrapNs();
  for (const std::uint64_t gap_ns : {wrap_ns, wrap_ns + 1}) {
    MemoryTrace trace;
    trace.mutable_info().scope = logformat::SessionScope::kSystem;
    trace.mutable_info().cpus = 1;
    trace.mutable_info().cpu_events = {"task-clock", "cycles"};
    trace.mutable_info().cpu_counter_limits = {{}, kPower2};
    trace.Dump(0, 0, CountersReason::kBegin, 7, {0, 4294967290});
    trace.Dump(gap_ns, 0, CountersReason::kEnd, 7, {gap_ns, 94});
    OverTimeOptions over_time;
    over_time.every_ns = 100 * kSecond;
    OverTime observer(trace.info(), over_time);
    PipelineOptions options;
    options.observer = &observer;
    const auto report = Reconstruct(trace, options);
    REQUIRE(report.ok());
    const auto series = observer.Finish(*report);
    REQUIRE(series.ok());
    REQUIRE(series->size() == 1);
    CHECK(series->TotalCount(0, 1) == 100);
    CHECK(series->QualityOf(0, 0) == Quality::kExact);
    CHECK((series->QualityOf(0, 1) == Quality::kBounded) == (gap_ns > wrap_ns));
  }
}

// --- Random machines ---------------------------------------------------------

using Key = std::vector<std::uint64_t>;

// Each row that claims to be exact must have the numbers of a true thread.
// Returns the number of such rows.
std::size_t CheckExactRows(const Report& report, const Truth& truth) {
  std::vector<Key> known;
  for (const TrueThread& thread : truth.threads) {
    Key key = {static_cast<std::uint64_t>(thread.tid), thread.on_cpu_ns,
               thread.dispatches};
    key.insert(key.end(), thread.counts.begin(), thread.counts.end());
    known.push_back(std::move(key));
  }
  std::sort(known.begin(), known.end());
  std::size_t exact = 0;
  for (const ThreadRow& row : report.threads) {
    if (row.quality != Quality::kExact) continue;
    Key key = {static_cast<std::uint64_t>(row.tid), row.on_cpu_ns.value(),
               row.dispatches};
    for (const auto& count : row.counts) key.push_back(count.value());
    CAPTURE(row.tid, key);
    CHECK(std::binary_search(known.begin(), known.end(), key));
    ++exact;
  }
  return exact;
}

void CheckBooks(const Report& report, const Truth& truth) {
  for (std::size_t i = 0; i < test_support::kSimulatedEvents; ++i) {
    CAPTURE(report.events[i].name);
    const Books& books = report.books[i];
    CHECK(books.residual == 0);
    if (books.doubt.any()) {
      CHECK(books.total <= truth.total[i]);
    } else {
      CHECK(books.total == truth.total[i]);
    }
    std::uint64_t threads = 0;
    for (const ThreadRow& row : report.threads) {
      threads += row.counts[i].value_or(0);
    }
    CHECK(threads == books.processes);
  }
  for (const CpuRow& row : report.cpu_rows) {
    CHECK(row.wall_ns == row.busy_ns + row.idle_ns + row.interrupts_ns +
                             row.outside_ns + row.unattributed_ns);
  }
}

// The format can state at most twice this rate for each ns.
constexpr std::uint64_t kFastest = 4'000'000'000;

SimulationOptions NarrowOptions(std::uint32_t seed, std::uint64_t wraps_in_ns) {
  static constexpr std::uint32_t kWidths[] = {32, 40, 48, 63};
  SimulationOptions options = RandomOptions(seed);
  // Cycles of interrupts can be separated only with dumps.
  if (options.interrupts) options.dumps = true;
  options.counter_width = kWidths[seed / 16 % 4];
  options.cycles_scale = std::clamp<std::uint64_t>(
      (std::uint64_t{1} << (options.counter_width - 1)) / wraps_in_ns, 1,
      kFastest);
  options.rates = true;
  return options;
}

TEST_CASE("wrap: of random machines exactly, if dumps are often enough",
          "[rmap][property]") {
  const auto seed =
      static_cast<std::uint32_t>(GENERATE(range(0, PropertyRuns(1000))));
  CAPTURE(seed);
  Simulation run = Simulate(NarrowOptions(seed, 10'000'000));
  const Report report = MustReconstruct(*run.trace);
  CHECK(report.loss.messages.empty());
  CHECK(CheckExactRows(report, run.truth) == report.threads.size());
  CheckBooks(report, run.truth);
  for (const Books& books : report.books) CHECK_FALSE(books.doubt.any());
}

TEST_CASE("wrap: what may be more than one is flagged, and nothing exact lies",
          "[rmap][property]") {
  std::size_t rows = 0, exact = 0, doubtful_books = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(1000u); ++seed) {
    CAPTURE(seed);
    // It wraps many times in a run, and sometimes twice between two dumps.
    Simulation run = Simulate(NarrowOptions(seed, 4000));
    const Report report = MustReconstruct(*run.trace);
    rows += report.threads.size();
    exact += CheckExactRows(report, run.truth);
    CheckBooks(report, run.truth);
    const bool doubt = report.books[4].doubt.any();
    CHECK(Says(report, "may have wrapped more than once") == doubt);
    CHECK(report.books[4].doubt.went_back_intervals == 0);
    doubtful_books += doubt;
  }
  CHECK(exact > rows / 20);
  CHECK(exact < rows);
  CHECK(doubtful_books > PropertyRuns(500u));
}

TEST_CASE("wrap: in event sets deltas lie in one rotation",
          "[rmap][property]") {
  const auto seed =
      static_cast<std::uint32_t>(GENERATE(range(0, PropertyRuns(300))));
  CAPTURE(seed);
  SimulationOptions options = NarrowOptions(seed, 50'000);
  options.event_sets = true;
  Simulation run = Simulate(options);
  const Report report = MustReconstruct(*run.trace);
  for (const Books& books : report.books) CHECK(books.residual == 0);
  if (report.books[4].doubt.any()) {
    CHECK(report.books[4].total <= run.truth.cycles_in_turns);
  } else {
    CHECK(report.books[4].total == run.truth.cycles_in_turns);
  }
}

TEST_CASE("reset: counters of random machines are reset", "[rmap][property]") {
  std::size_t rows = 0, exact = 0, resets = 0, flagged = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(500u); ++seed) {
    CAPTURE(seed);
    SimulationOptions options = NarrowOptions(seed, 500'000);
    options.steps = 3000;
    options.resets = true;
    Simulation run = Simulate(options);
    const Report report = MustReconstruct(*run.trace);
    rows += report.threads.size();
    exact += CheckExactRows(report, run.truth);
    CheckBooks(report, run.truth);
    const BooksDoubt& doubt = report.books[4].doubt;
    resets += run.truth.resets;
    flagged += doubt.went_back_intervals;
    CHECK((doubt.went_back_intervals != 0) == (run.truth.resets != 0));
    CHECK(doubt.went_back_intervals <= run.truth.resets);
  }
  CHECK(resets > PropertyRuns(500u));
  CHECK(flagged > resets / 2);  // two resets in one interval are one
  CHECK(exact > rows / 4);
  CHECK(exact < rows);
}

TEST_CASE("reset: also of counters of 64 bits without a word on them",
          "[rmap][property]") {
  std::size_t resets = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(300u); ++seed) {
    CAPTURE(seed);
    SimulationOptions options = RandomOptions(seed);
    if (options.interrupts) options.dumps = true;
    options.steps = 3000;
    options.resets = true;
    Simulation run = Simulate(options);
    const Report report = MustReconstruct(*run.trace);
    CheckExactRows(report, run.truth);
    CheckBooks(report, run.truth);
    CHECK((report.books[4].doubt.went_back_intervals != 0) ==
          (run.truth.resets != 0));
    resets += run.truth.resets;
  }
  CHECK(resets > PropertyRuns(100u));
}

TEST_CASE("hot-unplug: a CPU that goes is in the books until then",
          "[rmap][property]") {
  using Unplug = SimulationOptions::Unplug;
  const auto seed =
      static_cast<std::uint32_t>(GENERATE(range(0, PropertyRuns(500))));
  const auto unplug = GENERATE(Unplug::kWithLastDump, Unplug::kSilent);
  CAPTURE(seed, static_cast<int>(unplug));
  SimulationOptions options = NarrowOptions(seed, 10'000'000);
  options.cpus = 2 + seed % 3;
  options.unplug = unplug;
  Simulation run = Simulate(options);
  const Report report = MustReconstruct(*run.trace);
  CheckExactRows(report, run.truth);
  CheckBooks(report, run.truth);
  REQUIRE(report.cpu_rows.size() == options.cpus);
  for (std::size_t cpu = 0; cpu < options.cpus; ++cpu) {
    const CpuRow& row = report.cpu_rows[cpu];
    CHECK(row.busy_ns == run.truth.busy_ns[cpu]);
    CHECK(row.idle_ns == run.truth.idle_ns[cpu]);
    CHECK(row.interrupts_ns == run.truth.interrupts_ns[cpu]);
    CHECK(row.outside_ns == run.truth.outside_ns[cpu]);
    CHECK(row.unattributed_ns == 0);
  }
  CHECK(report.cpu_rows.back().wall_ns < run.truth.duration_ns);
  CHECK(Says(report, "cpu " + std::to_string(options.cpus - 1) +
                         ": the recording ended without a last counter dump") ==
        (unplug == Unplug::kSilent));
}

TEST_CASE("clock: a step ahead is no count, and may hide wraps",
          "[rmap][property]") {
  const auto seed =
      static_cast<std::uint32_t>(GENERATE(range(0, PropertyRuns(500))));
  CAPTURE(seed);
  SimulationOptions options = NarrowOptions(seed, 10'000'000);
  options.clock_step_ns = seed % 2 == 0 ? 100'000 : 40'000'000;
  Simulation run = Simulate(options);
  const Report report = MustReconstruct(*run.trace);
  CheckBooks(report, run.truth);
  CheckExactRows(report, run.truth);
  const auto wrap_ns = run.trace->info().cpu_counter_limits[4].WrapNs();
  if (wrap_ns && options.clock_step_ns > *wrap_ns) {
    CHECK(report.books[4].doubt.wrapped_intervals >= 1);
    CHECK(Says(report, "may have wrapped more than once"));
  } else {
    CHECK(report.loss.messages.empty());
  }
}

TEST_CASE("hot-unplug: a CPU that comes again begins anew",
          "[rmap][property]") {
  using Unplug = SimulationOptions::Unplug;
  const auto seed =
      static_cast<std::uint32_t>(GENERATE(range(0, PropertyRuns(300))));
  const auto unplug = GENERATE(Unplug::kWithLastDump, Unplug::kSilent);
  const auto narrow = GENERATE(false, true);
  CAPTURE(seed, static_cast<int>(unplug), narrow);
  SimulationOptions options = NarrowOptions(seed, 10'000'000);
  if (!narrow) {
    options.counter_width = 64;
    options.rates = false;
  }
  options.cpus = 2 + seed % 3;
  options.unplug = unplug;
  options.replug = true;
  Simulation run = Simulate(options);
  const Report report = MustReconstruct(*run.trace);
  CHECK(Says(report, "cpu " + std::to_string(options.cpus - 1) +
                         ": its records ended without a last counter dump") ==
        (unplug == Unplug::kSilent));
  CHECK(report.loss.messages.size() == (unplug == Unplug::kSilent ? 1 : 0));
  CheckBooks(report, run.truth);
  CheckExactRows(report, run.truth);
  REQUIRE(run.truth.absent_ns > 0);
  for (std::size_t i = 0; i < report.books.size(); ++i) {
    CHECK_FALSE(report.books[i].doubt.any());
    CHECK(report.books[i].processes == run.truth.processes_total[i]);
    CHECK(report.books[i].idle == run.truth.idle_total[i]);
    CHECK(report.books[i].unattributed == 0);
  }
  const CpuRow& row = report.cpu_rows.back();
  CHECK(row.wall_ns == run.truth.duration_ns - run.truth.absent_ns);
  CHECK(row.idle_ns == run.truth.idle_ns.back());
  CHECK(row.busy_ns == run.truth.busy_ns.back());
  CHECK(row.unattributed_ns == 0);
}

// Delivers a trace whose clock goes back in the middle.
class SetBack final : public logformat::TraceReader, logformat::ItemSink {
 public:
  SetBack(MemoryTrace& trace, std::uint64_t ns) : trace_(trace), ns_(ns) {}
  const logformat::TraceInfo& info() const override { return trace_.info(); }
  const std::vector<logformat::StreamInfo>& streams() const override {
    return trace_.streams();
  }
  absl::Status Read(logformat::ItemSink& sink,
                    const logformat::ProgressCallback& progress) override {
    sink_ = &sink;
    delivered_ = 0;
    return trace_.Read(*this, progress);
  }
  void OnRecord(const logformat::EventRecord& record) override {
    logformat::EventRecord moved = record;
    if (++delivered_ > trace_.size() / 2) moved.time_ns -= ns_;
    sink_->OnRecord(moved);
  }
  void OnDiscardedEvents(const logformat::DiscardedEvents& loss) override {
    sink_->OnDiscardedEvents(loss);
  }
  void OnDiscardedPackets(const logformat::DiscardedPackets& loss) override {
    sink_->OnDiscardedPackets(loss);
  }
  std::array<std::uint64_t, logformat::kDiscardCauses> session_discarded()
      const override {
    return {};
  }
  std::uint32_t session_last_errno() const override { return 0; }
  std::uint32_t late_sub_buffers() const override { return 0; }
  const std::vector<std::string>& messages() const override {
    return trace_.messages();
  }

 private:
  MemoryTrace& trace_;
  std::uint64_t ns_;
  logformat::ItemSink* sink_ = nullptr;
  std::size_t delivered_ = 0;
};

TEST_CASE("clock: a step back takes no count away, nor makes one up",
          "[rmap][property]") {
  const auto seed =
      static_cast<std::uint32_t>(GENERATE(range(0, PropertyRuns(300))));
  CAPTURE(seed);
  SimulationOptions options = NarrowOptions(seed, 10'000'000);
  options.command_scope = false;
  Simulation run = Simulate(options);
  SetBack reader(*run.trace, 5001 + seed * 37);
  const Report report = MustReconstruct(reader);
  CheckBooks(report, run.truth);
  CHECK(report.loss.clock_errors != 0);
  for (std::size_t i = 0; i < report.books.size(); ++i) {
    CHECK(report.books[i].unattributed == 0);
  }
}

TEST_CASE(
    "clock: hook records that step back are counted, and end no call "
    "before its begin",
    "[rmap]") {
  MemoryTrace trace;
  trace.mutable_info().scope = logformat::SessionScope::kHooksOnly;
  trace.AddHook(1, logformat::HookKind::kSegment, "app", "call");
  trace.HookRecord(2000, {7, 7, 1});
  trace.HookRecord(2100, {7, 7, 1, true});
  trace.HookRecord(2200, {7, 7, 1});
  trace.HookRecord(2340, {7, 7, 1, true});
  SetBack reader(trace, 250);
  const Report report = MustReconstruct(reader);
  CHECK(report.loss.clock_errors == 2);
  REQUIRE(report.segments.size() == 1);
  CHECK(report.segments[0].calls == 2);
  CHECK(report.segments[0].wall.incl == 100);
}

}  // namespace
}  // namespace countrace::rmap
