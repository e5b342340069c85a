// The trace's clock against CLOCK_MONOTONIC, and counters read at hooks.
#include <sys/wait.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "logformat/read/trace_reader.h"
#include "runtime/inprocess/counters/thread_counters.h"
#include "tests/runtime/inprocess/test_session.h"

namespace countrace::test {
namespace {

namespace lf = countrace::logformat;

// A hook's time, and CLOCK_MONOTONIC read just before and just after it.
struct Bracket {
  std::uint64_t before_ns, hook_ns, after_ns;
};

class BracketCollector : public lf::ItemSink {
 public:
  void OnRecord(const lf::EventRecord& record) override {
    std::uint64_t values[2];
    if (record.payload.size() < sizeof(values)) return;
    memcpy(values, record.payload.data(), sizeof(values));
    std::vector<Bracket>& thread = by_tid[record.tid];
    if (!thread.empty()) thread.back().after_ns = values[1];
    thread.push_back({values[0], record.time_ns, 0});
  }
  void OnDiscardedEvents(const lf::DiscardedEvents& loss) override {
    lost += loss.count;
  }
  void OnDiscardedPackets(const lf::DiscardedPackets&) override { ++lost; }

  std::map<int, std::vector<Bracket>> by_tid;
  std::uint64_t lost = 0;
};

TEST_CASE("clock: hooks agree with CLOCK_MONOTONIC to less than 1 us") {
  const bool calibrated = GENERATE(true, false);
  CAPTURE(calibrated);
  TestSession::Options options;
  options.calibrated = calibrated;
  TestSession session(options);
  // Pauses make threads outlive several sets of clock parameters.
  const ProgramResult program = session.Run({"clock", "3", "30000", "1000"});
  REQUIRE(WIFEXITED(program.status));
  session.Finish();
  auto reader = lf::TraceReader::Open(session.path());
  REQUIRE(reader.ok());
  BracketCollector collector;
  REQUIRE((*reader)->Read(collector).ok());
  CHECK(collector.lost == 0);
  REQUIRE(collector.by_tid.size() == 3);
  std::uint64_t worst_ns = 0;
  std::uint64_t hooks = 0;
  for (auto& [tid, brackets] : collector.by_tid) {
    brackets.pop_back();  // its "after" was never recorded
    for (const Bracket& b : brackets) {
      ++hooks;
      if (b.hook_ns < b.before_ns) {
        worst_ns = std::max(worst_ns, b.before_ns - b.hook_ns);
      }
      if (b.hook_ns > b.after_ns) {
        worst_ns = std::max(worst_ns, b.hook_ns - b.after_ns);
      }
    }
  }
  CHECK(hooks == 3 * 29999);
  CHECK(worst_ns < 1000);
  WARN("clock: largest disagreement " << worst_ns << " ns over " << hooks
                                      << " hooks");
}

// Dumps of each thread in order, each with its hook.
struct Dump {
  std::string hook;
  bool exit;
  std::uint32_t present;
  std::vector<std::uint64_t> counters;
};

class DumpCollector : public lf::ItemSink {
 public:
  explicit DumpCollector(const lf::TraceInfo& info) : info_(info) {}
  void OnRecord(const lf::EventRecord& record) override {
    Dump dump;
    dump.hook = info_.FindHook(lf::EventHookId(record.event_id))->name;
    dump.exit = (record.event_id & lf::kEventExitBit) != 0;
    dump.present = record.present;
    if (record.counters != nullptr) {
      dump.counters.assign(record.counters,
                           record.counters + info_.thread_events.size());
    }
    dumps.push_back(dump);
  }
  void OnDiscardedEvents(const lf::DiscardedEvents&) override {}
  void OnDiscardedPackets(const lf::DiscardedPackets&) override {}

  std::vector<Dump> dumps;

 private:
  const lf::TraceInfo& info_;
};

std::vector<Dump> RecordDumps(const TestSession::Options& options,
                              const std::vector<std::string>& arguments) {
  TestSession session(options);
  const ProgramResult program = session.Run(arguments);
  REQUIRE(WIFEXITED(program.status));
  session.Finish();
  CHECK(ShellOutput("babeltrace2 " + session.path() + " 2>&1 >/dev/null")
            .empty());
  auto reader = lf::TraceReader::Open(session.path());
  REQUIRE(reader.ok());
  DumpCollector collector((*reader)->info());
  REQUIRE((*reader)->Read(collector).ok());
  return collector.dumps;
}

TEST_CASE("counters at hooks: faults and switches belong to their segments") {
  TestSession::Options options;
  options.software_events = {{"page-faults", 2}, {"context-switches", 3}};
  const std::vector<Dump> dumps = RecordDumps(options, {"faults", "100", "5"});
  REQUIRE(dumps.size() == 5 * 4);
  for (std::size_t i = 0; i < dumps.size(); i += 2) {
    CAPTURE(i, dumps[i].hook);
    REQUIRE(dumps[i].present == 3);
    REQUIRE(dumps[i + 1].exit);
    const std::uint64_t faults =
        dumps[i + 1].counters[0] - dumps[i].counters[0];
    const std::uint64_t switches =
        dumps[i + 1].counters[1] - dumps[i].counters[1];
    if (dumps[i].hook == "faults") {
      // Exactly the fresh pages; one more only if the ring's own next page was
      // touched first here.
      CHECK(faults >= 100);
      CHECK(faults <= 102);
    } else {
      CHECK(switches >= 1);
    }
  }
}

TEST_CASE(
    "counters at hooks: an event that cannot be opened is absent, not 0") {
  TestSession::Options options;
  options.software_events = {{"page-faults", 2}, {"no-such-event", 0x7fff}};
  for (const Dump& dump : RecordDumps(options, {"faults", "10", "2"})) {
    CHECK(dump.present == 1);
    CHECK(dump.counters.size() == 2);
  }
}

// --- The rdpmc protocol, on a page that the test writes ----------------------

TEST_CASE("counter page: a read sign-extends from the counter's width") {
  const unsigned width = GENERATE(32u, 40u, 48u, 64u);
  perf_event_mmap_page page = {};
  page.index = 3;
  page.pmc_width = static_cast<std::uint16_t>(width);
  page.offset = 1'000'000;
  page.time_enabled = page.time_running = 5;
  // The kernel sets the counter to -offset in its width; it has counted 77.
  const std::uint64_t mask =
      width == 64 ? ~0ull : (std::uint64_t{1} << width) - 1;
  const std::uint64_t raw = (0ull - 1'000'000 + 77) & mask;
  std::uint64_t value = 0;
  const runtime::PageRead read = runtime::ReadPage(
      &page,
      [raw](std::uint32_t index) {
        CHECK(index == 2);
        return raw;
      },
      &value);
  CHECK(read == runtime::PageRead::kOk);
  CHECK(value == 77);
}

TEST_CASE("counter page: without a hardware counter there is no value") {
  perf_event_mmap_page page = {};
  page.offset = 5;
  std::uint64_t value = 4711;
  const runtime::PageRead read = runtime::ReadPage(
      &page, [](std::uint32_t) { return std::uint64_t{1}; }, &value);
  CHECK(read == runtime::PageRead::kNotScheduled);
  CHECK(value == 4711);
}

TEST_CASE("counter page: a change in mid-read is read again") {
  perf_event_mmap_page page = {};
  page.index = 1;
  page.pmc_width = 48;
  page.offset = 10;
  page.time_enabled = 9;
  page.time_running = 4;
  int reads = 0;
  std::uint64_t value = 0;
  const runtime::PageRead read = runtime::ReadPage(
      &page,
      [&](std::uint32_t) {
        if (++reads == 1) {
          page.lock += 2;  // the kernel rescheduled the counter
          page.offset = 100;
        }
        return std::uint64_t{1};
      },
      &value);
  CHECK(reads == 2);
  CHECK(value == 101);
  CHECK(read == runtime::PageRead::kMultiplexed);
}

}  // namespace
}  // namespace countrace::test
