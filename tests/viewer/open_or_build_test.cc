// From a real trace to its index: the same totals as rmap's report; built once,
// and again if it is missing, stale or damaged.
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "logformat/read/trace_reader.h"
#include "rmap/pipeline.h"
#include "tests/support/trace_builder.h"
#include "viewer/index/file/file_layout.h"
#include "viewer/index/open/build_lock.h"
#include "viewer/index/open/open_or_build.h"
#include "viewer/index/range/range_totals.h"

namespace countrace::viewer {
namespace {

using test_support::TempDirectory;
using test_support::TraceBuilder;

// Two CPUs, three processes of one thread, nested segments, counters.
void RecordRandomTrace(const std::string& directory, unsigned seed) {
  std::mt19937_64 random(seed);
  TraceBuilder trace(directory);
  trace.SetPacketBytes(8192);
  trace.SetCpuEvents({"task-clock", "page-faults"});
  const std::uint32_t outer = trace.AddSegment("server", "handle");
  const std::uint32_t inner = trace.AddSegment("store", "lookup");
  const std::uint32_t point = trace.AddPoint("server", "bytes");
  struct Cpu {
    std::uint64_t now_ns = 1000;
    std::uint32_t running = 0;
    std::vector<std::uint64_t> totals{0, 0};
  };
  std::vector<Cpu> cpus(2);
  std::map<std::int32_t, std::uint64_t> first_ns;  // of each thread
  // Both CPUs idle at the beginning.
  for (const int number : {0, 1}) {
    trace.Cpu(number).Counters(1000, logformat::CountersReason::kBegin, 0,
                               {0, 0});
  }
  for (std::uint32_t tid : {101u, 202u, 303u}) {
    trace.Cpu(0).ProcessState(1000, static_cast<std::int32_t>(tid),
                              static_cast<std::int32_t>(tid), 1, 0,
                              "process-" + std::to_string(tid));
  }
  for (int i = 0; i < 400; ++i) {
    const int number = cpus[0].now_ns <= cpus[1].now_ns ? 0 : 1;
    Cpu& cpu = cpus[number];
    const std::uint64_t ran_ns = 1 + random() % 5000;
    cpu.now_ns += ran_ns;
    if (cpu.running != 0) {
      cpu.totals[0] += ran_ns;
      cpu.totals[1] += random() % 3;
    }
    // CPU 0 runs 101 and 202, CPU 1 runs 303; 0 is idle.
    const std::uint32_t next =
        number == 0 ? std::vector<std::uint32_t>{0, 101, 202}[random() % 3]
                    : (random() % 2 == 0 ? 0 : 303);
    if (next == cpu.running) continue;
    first_ns.try_emplace(static_cast<std::int32_t>(next), cpu.now_ns);
    trace.Cpu(number).Dispatch(cpu.now_ns, cpu.running, next, 1, cpu.totals);
    cpu.running = next;
  }
  const std::uint64_t end_ns = std::max(cpus[0].now_ns, cpus[1].now_ns) + 1;
  for (const int number : {0, 1}) {
    Cpu& cpu = cpus[number];
    if (cpu.running != 0) cpu.totals[0] += end_ns - cpu.now_ns;
    trace.Cpu(number).Counters(end_ns, logformat::CountersReason::kEnd,
                               cpu.running, cpu.totals);
  }
  for (const std::int32_t tid : {101, 303}) {
    std::uint64_t now_ns = first_ns.at(tid);
    for (int i = 0; i < 40; ++i) {
      auto& thread = trace.Thread(tid, tid);
      thread.Enter(outer, now_ns += 1 + random() % 4000);
      thread.Enter(inner, now_ns += 1 + random() % 2000);
      thread.Point(point, now_ns += 1 + random() % 100);
      thread.Exit(inner, now_ns += 1 + random() % 2000);
      thread.Exit(outer, now_ns += 1 + random() % 4000);
    }
  }
  trace.Finish();
}

std::unique_ptr<TimelineIndex> OpenIndex(const std::string& directory) {
  auto index = OpenOrBuildIndex(directory, nullptr);
  INFO(index.status().ToString());
  REQUIRE(index.ok());
  return *std::move(index);
}

ino_t FileNumber(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_ino;
}

}  // namespace

TEST_CASE("open_or_build: the whole range equals rmap's report digit for digit",
          "[viewer]") {
  const auto seed = GENERATE(1u, 2u, 3u, 4u);
  CAPTURE(seed);
  const TempDirectory directory(TempDirectory::Place::kMemory);
  const std::string path = directory / "a.ctf";
  RecordRandomTrace(path, seed);
  auto reader = logformat::TraceReader::Open(path);
  REQUIRE(reader.ok());
  const auto report = rmap::Reconstruct(**reader, {});
  REQUIRE(report.ok());
  const auto index = OpenIndex(path);
  const RangeTotals totals = TotalsIn(*index, {0, index->duration_ns()});

  std::map<std::uint32_t, const RunTotals*> runs;
  for (const ProcessTotals& row : totals.processes) {
    runs[row.process] = &row.run;
  }
  std::size_t with_time = 0;
  for (const rmap::ProcessRow& row : report->processes) {
    if (row.dispatches == 0) continue;
    ++with_time;
    CAPTURE(row.comm, row.pid);
    const auto run = runs.find(static_cast<std::uint32_t>(row.index));
    REQUIRE(run != runs.end());
    CHECK(run->second->on_cpu_ns == row.on_cpu_ns.value_or(0));
    CHECK(run->second->dispatches == row.dispatches);
    for (const CountMark mark : run->second->marks) {
      CHECK(mark == CountMark::kExact);
    }
    for (std::size_t event = 0; event < run->second->counts.size(); ++event) {
      if (!row.counts[event].has_value()) continue;
      CHECK(run->second->counts[event] == *row.counts[event]);
    }
  }
  CHECK(with_time >= 3);

  std::map<std::pair<std::uint32_t, std::string>, const SegmentTotals*>
      segments;
  for (const SegmentTotals& row : totals.segments) {
    for (const HookEntry& hook : index->hooks()) {
      if (hook.id != row.hook_id) continue;
      segments[{row.process, std::string(index->Text(hook.name))}] = &row;
    }
  }
  REQUIRE(report->segments.size() == 4);
  for (const rmap::SegmentRow& row : report->segments) {
    CAPTURE(row.segment, row.pid);
    const auto found =
        segments.find({static_cast<std::uint32_t>(row.process), row.segment});
    REQUIRE(found != segments.end());
    CHECK(found->second->calls == row.calls);
    CHECK(found->second->wall_incl_ns == row.wall.incl);
    CHECK(found->second->wall_excl_ns == row.wall.excl);
    if (!row.on_cpu.has_value()) continue;
    CHECK(found->second->on_cpu_known);
    CHECK(found->second->on_cpu_incl_ns == row.on_cpu->incl);
    CHECK(found->second->on_cpu_excl_ns == row.on_cpu->excl);
  }
  std::uint64_t hits = 0;
  for (const HookTotals& row : totals.hooks) hits += row.hits;
  CHECK(hits == 80);
}

TEST_CASE("open_or_build: a sound index is used, any other is built again",
          "[viewer]") {
  const TempDirectory directory(TempDirectory::Place::kMemory);
  const std::string path = directory / "a.ctf";
  RecordRandomTrace(path, 7);
  const std::string index_path = path + "/" + kIndexFile;
  const std::uint64_t duration_ns = OpenIndex(path)->duration_ns();
  REQUIRE(duration_ns > 0);
  const ino_t built = FileNumber(index_path);
  CHECK(OpenIndex(path)->duration_ns() == duration_ns);
  CHECK(FileNumber(index_path) == built);

  SECTION("cut") { std::filesystem::resize_file(index_path, 1000); }
  SECTION("empty") { std::filesystem::resize_file(index_path, 0); }
  SECTION("flipped") {
    std::fstream file(index_path,
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(sizeof(FileHeader)) + 200);
    file.put('\x5a');
  }
  SECTION("of another version") {
    std::fstream file(index_path,
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(8);
    file.put('\x7f');
  }
  SECTION("of another trace") {
    const std::string other = directory / "b.ctf";
    RecordRandomTrace(other, 8);
    OpenIndex(other);
    std::filesystem::copy_file(
        other + "/" + kIndexFile, index_path,
        std::filesystem::copy_options::overwrite_existing);
  }
  const ino_t damaged = FileNumber(index_path);
  CHECK(OpenIndex(path)->duration_ns() == duration_ns);
  CHECK(FileNumber(index_path) != damaged);
  // Nothing temporary stays behind.
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    CHECK(entry.path().extension() != ".tmp");
  }
}

// As far as a first part goes, it says what the whole trace says: but for time
// of CPUs behind their last record in it, which it says it does not know.
void CheckAgreement(const TimelineIndex& part, const TimelineIndex& whole,
                    TimeRange range) {
  CAPTURE(range.begin_ns, range.end_ns, part.duration_ns());
  const RangeTotals some = TotalsIn(part, range);
  const RangeTotals all = TotalsIn(whole, range);
  CHECK(all.unknown_ns == 0);
  std::map<std::uint32_t, RunTotals> runs;
  for (const ProcessTotals& row : some.processes) runs[row.process] = row.run;
  std::uint64_t less_ns = 0;
  for (const ProcessTotals& row : all.processes) {
    CAPTURE(row.process);
    const RunTotals& run = runs[row.process];
    if (!run.qualities.Has(rmap::Quality::kBounded)) {
      CHECK(run.on_cpu_ns == row.run.on_cpu_ns);
    }
    CHECK(run.dispatches == row.run.dispatches);
    REQUIRE(run.on_cpu_ns <= row.run.on_cpu_ns);
    less_ns += row.run.on_cpu_ns - run.on_cpu_ns;
  }
  REQUIRE(some.idle.on_cpu_ns <= all.idle.on_cpu_ns);
  CHECK(less_ns + all.idle.on_cpu_ns - some.idle.on_cpu_ns == some.unknown_ns);
  REQUIRE(some.segments.size() == all.segments.size());
  std::map<std::pair<std::uint32_t, std::uint32_t>, const SegmentTotals*> calls;
  for (const SegmentTotals& row : some.segments) {
    calls[{row.process, row.hook_id}] = &row;
  }
  for (const SegmentTotals& row : all.segments) {
    CAPTURE(row.process, row.hook_id);
    const auto found = calls.find({row.process, row.hook_id});
    REQUIRE(found != calls.end());
    CHECK(found->second->calls == row.calls);
    CHECK(found->second->wall_incl_ns == row.wall_incl_ns);
    CHECK(found->second->wall_excl_ns == row.wall_excl_ns);
  }
}

TEST_CASE("open_or_build: recursive calls and paths are the report's",
          "[viewer]") {
  const auto seed = GENERATE(1u, 2u, 3u);
  CAPTURE(seed);
  const TempDirectory directory(TempDirectory::Place::kMemory);
  const std::string path = directory / "a.ctf";
  {
    // Random calls of three segments up to six deep, each inside any other.
    std::mt19937_64 random(seed);
    TraceBuilder trace(path);
    std::vector<std::uint32_t> segments;
    for (const char* name : {"a", "b", "c"}) {
      segments.push_back(trace.AddSegment("recursive", name));
    }
    auto& thread = trace.Thread(7, 7);
    std::vector<std::uint32_t> open;
    std::uint64_t now_ns = 1000;
    for (int i = 0; i < 2000; ++i) {
      now_ns += 1 + random() % 500;
      if (open.size() == 6 || (!open.empty() && random() % 2 == 0)) {
        thread.Exit(open.back(), now_ns);
        open.pop_back();
      } else {
        open.push_back(segments[random() % segments.size()]);
        thread.Enter(open.back(), now_ns);
      }
    }
    for (; !open.empty(); open.pop_back()) thread.Exit(open.back(), ++now_ns);
    trace.Finish();
  }
  const auto index = OpenIndex(path);
  const std::uint64_t begin_ns = index->header().begin_ns;
  std::mt19937_64 random(seed);
  for (int i = 0; i < 10; ++i) {
    TimeRange range{0, index->duration_ns()};
    rmap::TableRange table;
    if (i > 0) {
      const std::uint64_t a = random() % index->duration_ns();
      const std::uint64_t b = random() % index->duration_ns();
      range = {std::min(a, b), std::max(a, b) + 1};
      table = {.from_ns = begin_ns + range.begin_ns,
               .until_ns = begin_ns + range.end_ns};
    }
    CAPTURE(range.begin_ns, range.end_ns);
    auto reader = logformat::TraceReader::Open(path);
    REQUIRE(reader.ok());
    const auto report = rmap::Reconstruct(**reader, {.range = table});
    REQUIRE(report.ok());
    const RangeTotals totals = TotalsIn(
        *index, range, {.segments = true, .hooks = false, .paths = true});
    std::map<std::uint32_t, std::string> names;
    for (const HookEntry& hook : index->hooks()) {
      names[hook.id] = index->Text(hook.name);
    }
    std::map<std::string, std::vector<std::uint64_t>> theirs, ours;
    for (const rmap::SegmentRow& row : report->segments) {
      theirs[row.segment] = {row.calls, row.wall.incl, row.wall.excl};
    }
    for (const SegmentTotals& row : totals.segments) {
      ours[names[row.hook_id]] = {row.calls, row.wall_incl_ns,
                                  row.wall_excl_ns};
    }
    CHECK(ours == theirs);
    std::map<std::vector<std::string>, std::vector<std::uint64_t>> reported,
        paths;
    for (const rmap::SegmentRow& row : report->segment_paths) {
      reported[row.path] = {row.calls, row.wall.incl, row.wall.excl};
    }
    for (const PathTotals& row : totals.paths) {
      std::vector<std::string> around;
      for (std::uint32_t at = row.path; at != kNoKey;
           at = index->paths()[at].parent) {
        around.insert(around.begin(), names[index->paths()[at].key]);
      }
      paths[around] = {row.calls, row.wall_incl_ns, row.wall_excl_ns};
    }
    CHECK(paths == reported);
  }
}

TEST_CASE("open_or_build: a first part equals the whole as far as it goes",
          "[viewer]") {
  const auto seed = GENERATE(1u, 2u, 3u, 4u, 5u, 6u);
  CAPTURE(seed);
  const TempDirectory directory(TempDirectory::Place::kMemory);
  const std::string path = directory / "a.ctf";
  RecordRandomTrace(path, seed);
  const std::string index_path = path + "/" + kIndexFile;

  std::vector<std::unique_ptr<TimelineIndex>> parts;
  RecordedBytes recorded;
  std::size_t calls = 0;
  // The pass over the whole trace waits for two parts, so that they are built.
  std::mutex mutex;
  std::condition_variable built;
  auto whole = OpenOrBuildIndex(
      path,
      [&](const logformat::Progress&) {
        std::unique_lock lock(mutex);
        if (calls++ == 0) built.wait(lock, [&] { return parts.size() >= 2; });
        return true;
      },
      "",
      {.on_part =
           [&](std::unique_ptr<TimelineIndex> part, RecordedBytes of_whole) {
             const std::lock_guard lock(mutex);
             parts.push_back(std::move(part));
             recorded = std::move(of_whole);
             built.notify_all();
           },
       .first_bytes = 1});
  INFO(whole.status().ToString());
  REQUIRE(whole.ok());
  CHECK((*whole)->is_whole());
  REQUIRE(parts.size() >= 2);
  CHECK(recorded.span.begin_ns == (*whole)->header().begin_ns);
  CHECK(recorded.span.duration_ns >= (*whole)->duration_ns());
  auto reader = logformat::TraceReader::Open(path);
  REQUIRE(reader.ok());
  CHECK(recorded.cpus == RecordedFrom(**reader, recorded.span.begin_ns).cpus);
  std::mt19937_64 random(seed);
  std::uint64_t previous_ns = 0;
  for (const auto& part : parts) {
    CHECK_FALSE(part->is_whole());
    CHECK(part->header().begin_ns == (*whole)->header().begin_ns);
    CHECK(part->duration_ns() < (*whole)->duration_ns());
    CHECK(part->duration_ns() >= previous_ns);
    previous_ns = part->duration_ns();
    // Processes and threads keep their numbers: a page keeps its view.
    REQUIRE(part->processes().size() <= (*whole)->processes().size());
    for (std::size_t i = 0; i < part->processes().size(); ++i) {
      CHECK(part->processes()[i].pid == (*whole)->processes()[i].pid);
    }
    REQUIRE(part->threads().size() <= (*whole)->threads().size());
    for (std::size_t i = 0; i < part->threads().size(); ++i) {
      CHECK(part->threads()[i].tid == (*whole)->threads()[i].tid);
    }
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t a = random() % (part->duration_ns() + 1);
      const std::uint64_t b = random() % (part->duration_ns() + 1);
      const TimeRange range{std::min(a, b), std::max(a, b)};
      CheckAgreement(*part, **whole, range);
    }
  }
}

TEST_CASE("open_or_build: a first part that was left does not pass for a whole",
          "[viewer]") {
  const TempDirectory directory(TempDirectory::Place::kMemory);
  const std::string path = directory / "a.ctf";
  RecordRandomTrace(path, 3);
  // A builder that is stopped after its first part.
  std::atomic<std::size_t> parts = 0;
  const FirstParts wanted{.on_part = [&](std::unique_ptr<TimelineIndex>,
                                         RecordedBytes) { ++parts; },
                          .first_bytes = 1};
  const auto stopped = OpenOrBuildIndex(
      path,
      [&](const logformat::Progress&) {
        while (parts == 0) std::this_thread::yield();
        return false;
      },
      "", wanted);
  CHECK(absl::IsCancelled(stopped.status()));
  REQUIRE(std::filesystem::exists(path + "/" + kIndexFile));
  CHECK_FALSE(TimelineIndex::Open(path + "/" + kIndexFile, nullptr)
                  .value()
                  ->is_whole());
  // The next one has it at once, before it reads anything.
  parts = 0;
  const auto again = OpenOrBuildIndex(
      path,
      [&](const logformat::Progress&) {
        CHECK(parts > 0);
        return false;
      },
      "", wanted);
  CHECK(absl::IsCancelled(again.status()));
  CHECK(OpenIndex(path)->is_whole());
}

TEST_CASE("open_or_build: a second builder waits for the first", "[viewer]") {
  const TempDirectory directory(TempDirectory::Place::kMemory);
  const std::string path = directory / "a.ctf";
  RecordRandomTrace(path, 4);
  const std::string index_path = path + "/" + kIndexFile;
  // A killed builder's leavings.
  std::ofstream(index_path + ".abcdef.tmp") << "nothing";
  std::ofstream(index_path + ".lock") << "";
  std::thread first;
  std::atomic<bool> waiting = false, early = false, whole = false;
  {
    std::optional<BuildLock> lock = BuildLock::Try(index_path);
    REQUIRE(lock);
    CHECK(lock->is_held());
    CHECK_FALSE(BuildLock::Try(index_path));
    first = std::thread([&] {
      const auto index = OpenOrBuildIndex(path, [&](const auto& progress) {
        // Nothing is read before the lock is free.
        if (!waiting && progress.done != 0) early = true;
        waiting = true;
        return true;
      });
      whole = index.ok() && (*index)->is_whole();
    });
    while (!waiting) std::this_thread::yield();
    CHECK_FALSE(std::filesystem::exists(index_path));
  }
  first.join();
  CHECK_FALSE(early);
  CHECK(whole);
  CHECK(std::filesystem::exists(index_path));
  CHECK_FALSE(std::filesystem::exists(index_path + ".abcdef.tmp"));
  CHECK_FALSE(std::filesystem::exists(index_path + ".lock"));
}

TEST_CASE("open_or_build: what is not a trace is an error, not an index",
          "[viewer]") {
  const TempDirectory directory(TempDirectory::Place::kMemory);
  CHECK(absl::IsNotFound(
      OpenOrBuildIndex(directory / "nothing.ctf", nullptr).status()));
  std::filesystem::create_directory(directory / "empty.ctf");
  CHECK_FALSE(OpenOrBuildIndex(directory / "empty.ctf", nullptr).ok());
  CHECK_FALSE(std::filesystem::exists(directory / "empty.ctf/.timeline.pvx"));
}

}  // namespace countrace::viewer
