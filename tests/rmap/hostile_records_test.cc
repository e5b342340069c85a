// Records that no recorder writes: reconstruction must survive and terminate.
// The reader checks framing only; rmap must doubt the contents.
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "rmap/pipeline.h"
#include "rmap/report/report_render.h"
#include "tests/rmap/memory_trace.h"
#include "tests/support/property_runs.h"
#include "tests/support/trace_builder.h"

namespace countrace::rmap {
namespace {

using test_support::PropertyRuns;

using logformat::EventRecord;

class RandomTrace final : public logformat::TraceReader {
 public:
  explicit RandomTrace(std::uint32_t seed) : seed_(seed) {
    info_.scope = static_cast<logformat::SessionScope>(seed % 3);
    info_.root_pid = static_cast<std::int32_t>(seed % 5);
    info_.cpu_events = {"task-clock", "page-faults", "context-switches"};
    if (seed % 2 == 0) info_.thread_events = {"cycles", "page-faults"};
    if (seed % 5 < 2) {  // of any width and rate
      for (const std::uint32_t width : {1u, 32u, 63u}) {
        const std::uint64_t rate =
            seed % 7 == 0 ? 0 : ~std::uint64_t{0} >> seed;
        info_.cpu_counter_limits.push_back({width + seed % 2, rate});
        info_.thread_counter_limits.push_back({64 - width, rate});
      }
      info_.thread_counter_limits.pop_back();
    }
    logformat::HookInfo hook;
    hook.id = 1;
    hook.kind = logformat::HookKind::kPoint;
    info_.hooks.push_back(hook);
    if (seed % 3 == 0) return;
    // System call, fault, interrupt, probe; a fifth hook has no description.
    const std::pair<const char*, logformat::HookOrigin> kernel[] = {
        {"syscall", logformat::HookOrigin::kKernel},
        {"fault", logformat::HookOrigin::kKernel},
        {"irq", logformat::HookOrigin::kInterrupt},
        {"server", logformat::HookOrigin::kProbe}};
    hook.id = logformat::kHookIdKernelMin;
    for (const auto& [provider, origin] : kernel) {
      hook.kind = logformat::HookKind::kSegment;
      hook.provider = provider;
      hook.origin = origin;
      info_.hooks.push_back(hook);
      ++hook.id;
    }
  }

  const logformat::TraceInfo& info() const override { return info_; }
  const std::vector<logformat::StreamInfo>& streams() const override {
    return streams_;
  }
  std::array<std::uint64_t, logformat::kDiscardCauses> session_discarded()
      const override {
    return {};
  }
  std::uint32_t session_last_errno() const override { return 0; }
  std::uint32_t late_sub_buffers() const override { return 0; }
  const std::vector<std::string>& messages() const override {
    return messages_;
  }

  absl::Status Read(logformat::ItemSink& sink,
                    const logformat::ProgressCallback&) override {
    std::mt19937_64 random(seed_);
    const auto pick = [&](std::uint64_t n) { return random() % n; };
    const auto small_id = [&] {
      return static_cast<std::int32_t>(pick(50) == 0 ? random() : pick(6));
    };
    std::uint64_t now_ns = 0;
    for (int i = 0; i < 3000; ++i) {
      now_ns += pick(1000);
      // Sometimes far off, either way.
      const std::uint64_t time_ns =
          pick(100) == 0 ? random() >> pick(64) : now_ns;
      std::vector<std::byte> bytes(8 * pick(6));
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
      // Small numbers in the body, so that tids and pids coincide.
      for (std::size_t at = 8; at + 4 <= bytes.size(); at += 4) {
        const std::int32_t value = small_id();
        std::memcpy(&bytes[at], &value, sizeof(value));
      }
      const std::uint64_t values[16] = {random() >> pick(64), pick(100),
                                        pick(9)};
      if (pick(20) == 0) {
        logformat::DiscardedEvents loss{};
        loss.stream_class = static_cast<logformat::StreamClass>(pick(2));
        loss.cpu = small_id();
        loss.pid = small_id();
        loss.tid = small_id();
        loss.begin_ns = time_ns;
        loss.count = pick(3);
        loss.by_cause[pick(logformat::kDiscardCauses)] = pick(3);
        sink.OnDiscardedEvents(loss);
      }
      EventRecord record{};
      record.time_ns = time_ns;
      record.stream_class = static_cast<logformat::StreamClass>(pick(2));
      record.stream = static_cast<std::uint32_t>(pick(9));
      record.cpu = record.pid = record.tid = -1;
      if (record.stream_class == logformat::StreamClass::kCpu) {
        record.cpu = pick(9) == 0 ? small_id() : static_cast<int>(pick(2));
        record.event_id = static_cast<std::uint16_t>(pick(10));
        if (pick(2) == 0) {
          record.event_id = static_cast<std::uint16_t>(
              logformat::kHookIdKernelMin * 2 + pick(10));
        }
      } else {
        record.pid = small_id();
        record.tid = small_id();
        record.event_id = static_cast<std::uint16_t>(
            pick(9) == 0 ? random() & 0x7fff : 2 + pick(8));
      }
      if (pick(3) != 0) record.counters = values;
      record.present = static_cast<std::uint32_t>(random());
      record.mmcr = static_cast<std::uint32_t>(pick(2));
      record.bytes = bytes;
      sink.OnRecord(record);
    }
    return absl::OkStatus();
  }

 private:
  std::uint32_t seed_;
  logformat::TraceInfo info_;
  std::vector<logformat::StreamInfo> streams_;
  std::vector<std::string> messages_;
};

TEST_CASE("hostile records: reconstruction ends, with its invariants",
          "[rmap][property]") {
  const auto seed =
      static_cast<std::uint32_t>(GENERATE(range(0, PropertyRuns(60))));
  CAPTURE(seed);
  RandomTrace trace(seed);
  const auto report = Reconstruct(trace, {});
  REQUIRE(report.ok());
  CHECK(report->records == 3000);
  CHECK_FALSE(report->loss.messages.empty());
  for (const CpuRow& row : report->cpu_rows) {
    CHECK(row.wall_ns == row.busy_ns + row.idle_ns + row.interrupts_ns +
                             row.outside_ns + row.unattributed_ns);
  }
  for (const SegmentRow& row : report->segment_paths) {
    CHECK(row.wall.excl <= row.wall.incl);
  }
  for (const ReportFormat format :
       {ReportFormat::kText, ReportFormat::kJson, ReportFormat::kJsonLines,
        ReportFormat::kCsv}) {
    CHECK_FALSE(RenderReport(*report, {.format = format}).empty());
  }
}

TEST_CASE("hostile records: enters without end cost bounded memory and time",
          "[rmap]") {
  test_support::MemoryTrace trace;
  trace.mutable_info().scope = logformat::SessionScope::kHooksOnly;
  for (std::uint32_t i = 0; i < 200000; ++i) {
    trace.HookRecord(i, {1, 1, 10 + i % 7, false});
  }
  for (std::uint32_t i = 0; i < 200000; ++i) {
    trace.HookRecord(200000 + i, {1, 1, 30, true});
  }
  const auto report = Reconstruct(trace, {});
  REQUIRE(report.ok());
  // What is missing from the tables has a message.
  CHECK(report->loss.messages.size() >= 2);
  CHECK(report->segment_paths.size() < 2000);
}

// A flipped bit in perf.data's COMM record of a process that ran before.
TEST_CASE("hostile records: a process state without a process is malformed",
          "[rmap]") {
  test_support::MemoryTrace trace;
  trace.State(1, 0, {.pid = -2, .tid = 77}, "flipped");
  trace.State(2, 0, {.pid = 78, .tid = 78}, "sound");
  const auto report = Reconstruct(trace, {});
  REQUIRE(report.ok());
  CHECK(report->processes.size() == 1);
  CHECK_FALSE(report->loss.messages.empty());
}

// As in an import of perf.data with probes alone.
TEST_CASE("many threads of points, and no dispatch: the report ends",
          "[rmap]") {
  constexpr std::int32_t kThreads = 96;
  constexpr std::uint64_t kPoints = 2000;
  test_support::TempDirectory temp(test_support::TempDirectory::Place::kMemory);
  {
    test_support::TraceBuilder builder(temp / "t");
    const std::uint32_t hook = builder.AddPoint("probe", "point");
    for (std::uint64_t i = 1; i <= kPoints; ++i) {
      for (std::int32_t tid = 1; tid <= kThreads; ++tid) {
        // Some threads end early, and the last ones begin late.
        if (tid % 7 == 0 && i > kPoints / 2) continue;
        if (tid > kThreads - 4 && i < kPoints / 2) continue;
        builder.Thread(1 + tid / 10, tid)
            .Point(hook, 100'000 * i + static_cast<unsigned>(tid));
      }
    }
    builder.Finish();
  }
  const auto reader = logformat::TraceReader::Open(temp / "t");
  REQUIRE(reader.ok());
  TimelineObserver observer;
  const auto runs = Reconstruct(**reader, {});
  const auto records = Reconstruct(**reader, {.observer = &observer});
  REQUIRE(runs.ok());
  REQUIRE(records.ok());
  std::uint64_t hits = 0;
  for (const HookRow& row : runs->hooks) hits += row.hits;
  CHECK(hits == runs->records);
  CHECK(runs->threads.size() == kThreads);
  CHECK(RenderReport(*runs, {.format = ReportFormat::kJson}) ==
        RenderReport(*records, {.format = ReportFormat::kJson}));
}

}  // namespace
}  // namespace countrace::rmap
