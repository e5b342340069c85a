// Reading thread by thread delivers the items of Read(), in the order that it
// promises: those of CPUs and what is lost of them as there, with the same
// items of threads before each, and each thread's own in their order.
#include <algorithm>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "logformat/read/trace_reader.h"
#include "tests/logformat/trace_generator.h"
#include "tests/support/trace_builder.h"

namespace countrace::logformat {
namespace {

using test_support::TempDirectory;
using test_support::ThreadStreamBuilder;
using test_support::TraceBuilder;

struct Item {
  StreamClass stream_class;
  std::uint32_t stream;
  std::int32_t tid;
  std::string text;
};

class Transcript final : public ItemSink {
 public:
  void OnRecord(const EventRecord& record) override {
    std::string text =
        std::to_string(record.time_ns) + " " + std::to_string(record.event_id) +
        " " + std::to_string(record.mmcr) + " " +
        std::to_string(record.present) + " " +
        std::to_string(record.payload.size()) + " " +
        (record.counters == nullptr ? "-" : std::to_string(record.counters[0]));
    text.append(reinterpret_cast<const char*>(record.bytes.data()),
                record.bytes.size());
    items.push_back({record.stream_class, record.stream, record.tid, text});
  }
  void OnDiscardedEvents(const DiscardedEvents& loss) override {
    items.push_back({loss.stream_class, loss.stream, loss.tid,
                     "events " + std::to_string(loss.begin_ns) + " " +
                         std::to_string(loss.count)});
  }
  void OnDiscardedPackets(const DiscardedPackets& loss) override {
    items.push_back(
        {loss.stream_class, loss.stream, loss.tid,
         "packets " + std::to_string(loss.begin_ns) + " " + loss.reason});
  }
  void OnThreadRecords(const EventRecord& head,
                       std::span<const ThreadRecord> records) override {
    CHECK(!records.empty());
    ++runs;
    ItemSink::OnThreadRecords(head, records);
  }

  // By thread, and by stream for those of CPUs.
  std::map<std::pair<StreamClass, std::int64_t>, std::vector<std::string>>
  Sequences() const {
    std::map<std::pair<StreamClass, std::int64_t>, std::vector<std::string>>
        out;
    for (const Item& item : items) {
      const std::int64_t who = item.stream_class == StreamClass::kThread
                                   ? item.tid
                                   : std::int64_t{item.stream};
      out[{item.stream_class, who}].push_back(item.text);
    }
    return out;
  }
  // Between two items of CPUs, in any order.
  std::vector<std::multiset<std::string>> Intervals() const {
    std::vector<std::multiset<std::string>> out(1);
    for (const Item& item : items) {
      if (item.stream_class == StreamClass::kCpu) out.emplace_back();
      out.back().insert(item.text);
    }
    return out;
  }

  std::vector<Item> items;
  std::size_t runs = 0;
};

// Has a part of what it is offered delivered by a thread of its own, which
// starts late.
class Elsewhere final : public RunScheduler {
 public:
  Elsewhere(ItemSink& sink, std::uint32_t seed)
      : sink_(sink), random_(seed), thread_([this] { Work(); }) {}
  ~Elsewhere() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  bool Hold(RunSource& source, const EventRecord& head, std::uint64_t begin_ns,
            bool exact, std::uint64_t limit_ns) override {
    CHECK(begin_ns < limit_ns);
    const std::lock_guard lock(mutex_);
    // What is not exact was held before, and not done since.
    if (!exact) CHECK(last_task_.contains(head.stream));
    if (random_() % 4 == 0) return false;
    tasks_.push_back({&source, limit_ns});
    ++taken;
    changed_.notify_all();
    last_task_[head.stream] = tasks_.size();
    return true;
  }
  bool IsDone(std::uint32_t stream) override {
    const std::lock_guard lock(mutex_);
    return done_ >= last_task_.at(stream);
  }
  void WaitFor(std::uint32_t stream) override { Await(last_task_.at(stream)); }
  void ReturnAll() override {
    for (const auto& [stream, task] : last_task_) Await(task);
  }

  std::size_t taken = 0, stopped_early = 0;

 private:
  struct Task {
    RunSource* source;
    std::uint64_t limit_ns;
  };

  void Await(std::size_t task) {
    std::unique_lock lock(mutex_);
    wanted_ = std::max(wanted_, task);
    changed_.notify_all();
    changed_.wait(lock, [&] { return done_ >= task; });
  }
  void Work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] {
        return (stop_ || done_ < wanted_ || tasks_.size() > done_ + 5) &&
               (stop_ || done_ < tasks_.size());
      });
      if (done_ == tasks_.size()) return;
      const Task task = tasks_[done_];
      lock.unlock();
      if (!task.source->DeliverRuns(task.limit_ns, sink_)) ++stopped_early;
      lock.lock();
      ++done_;
      changed_.notify_all();
    }
  }

  ItemSink& sink_;
  std::mt19937 random_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::map<std::uint32_t, std::size_t> last_task_;  // of each stream
  std::size_t done_ = 0, wanted_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

// For the reader's thread and another one.
class Locked final : public ItemSink {
 public:
  explicit Locked(Transcript& to) : to_(to) {}
  void OnRecord(const EventRecord& record) override {
    const std::lock_guard lock(mutex_);
    to_.OnRecord(record);
  }
  void OnThreadRecords(const EventRecord& head,
                       std::span<const ThreadRecord> records) override {
    const std::lock_guard lock(mutex_);
    to_.OnThreadRecords(head, records);
  }
  void OnDiscardedEvents(const DiscardedEvents& loss) override {
    const std::lock_guard lock(mutex_);
    to_.OnDiscardedEvents(loss);
  }
  void OnDiscardedPackets(const DiscardedPackets& loss) override {
    const std::lock_guard lock(mutex_);
    to_.OnDiscardedPackets(loss);
  }

 private:
  std::mutex mutex_;
  Transcript& to_;
};

TEST_CASE("thread runs: the items of Read() in the order that is promised",
          "[logformat][property]") {
  const auto seed = GENERATE(range(0u, 24u));
  CAPTURE(seed);
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  GeneratorOptions options;
  options.records = seed % 4 == 0 ? static_cast<int>(seed) : 20'000;
  options.losses = seed % 2 == 0;
  // With more of the kernel nothing is offered.
  if (seed % 3 != 0) options.cpus = 1;
  if (seed % 3 != 0) options.threads = 16;
  options.long_pauses = seed % 4 == 1;
  Generate(builder, seed, options);
  if (seed % 3 == 0) {
    builder.Abandon();
  } else {
    builder.Finish();
  }
  auto reader = TraceReader::Open(temp / "t");
  REQUIRE(reader.ok());
  Transcript read, runs, shared;
  REQUIRE((*reader)->Read(read).ok());
  REQUIRE((*reader)->ReadThreadRuns(runs).ok());
  std::size_t taken = 0, stopped_early = 0;
  {
    Locked sink(shared);
    Elsewhere elsewhere(sink, seed);
    REQUIRE((*reader)->ReadThreadRuns(sink, nullptr, nullptr, &elsewhere).ok());
    taken = elsewhere.taken;
    stopped_early = elsewhere.stopped_early;
  }
  CHECK(read.items.size() == runs.items.size());
  CHECK(read.Sequences() == runs.Sequences());
  CHECK(read.Intervals() == runs.Intervals());
  CHECK(shared.Sequences() == runs.Sequences());
  CAPTURE(taken, stopped_early);
  // Losses that heads tell of are not come upon elsewhere. Of a pause of more
  // than 2^47 ns only who decodes it finds out.
  if (!options.long_pauses) CHECK(stopped_early == 0);
}

constexpr std::int32_t kPointThreads = 3;

// Of each of the threads `count` points, at about the same times.
void WritePoints(const std::string& path, std::uint64_t count) {
  TraceBuilder builder(path);
  const std::uint32_t hook = builder.AddPoint("p", "h");
  for (std::uint64_t t = 1; t <= count; ++t) {
    for (std::int32_t tid = 1; tid <= kPointThreads; ++tid) {
      builder.Thread(1, tid).Point(hook, 10 * t + static_cast<unsigned>(tid));
    }
  }
  builder.Finish();
}

TEST_CASE("thread runs: what has nothing doubtful is offered", "[logformat]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  WritePoints(temp / "t", 1000);
  auto reader = TraceReader::Open(temp / "t");
  REQUIRE(reader.ok());
  Transcript transcript;
  Locked sink(transcript);
  Elsewhere elsewhere(sink, 1);
  REQUIRE((*reader)->ReadThreadRuns(sink, nullptr, nullptr, &elsewhere).ok());
  CHECK(transcript.items.size() == 3000);
  CHECK(elsewhere.taken > 0);
  CHECK(elsewhere.stopped_early == 0);
}

// Takes all that it is offered, and does nothing of it before it is waited for.
class Late final : public RunScheduler {
 public:
  explicit Late(ItemSink& sink) : sink_(sink) {}

  bool Hold(RunSource& source, const EventRecord& head,
            std::uint64_t /*begin_ns*/, bool /*exact*/,
            std::uint64_t limit_ns) override {
    tasks_.push_back({&source, limit_ns});
    REQUIRE(tasks_.size() < 10'000);
    last_task_[head.stream] = tasks_.size();
    owners_.emplace_back(head.stream, head.tid);
    return true;
  }
  bool IsDone(std::uint32_t stream) override {
    return done_ >= last_task_.at(stream);
  }
  void WaitFor(std::uint32_t stream) override {
    if (!offered_at_first_wait_.has_value()) {
      offered_at_first_wait_ = 0;
      for (const auto& [source, limit_ns] : tasks_) {
        offered_at_first_wait_ = std::max(*offered_at_first_wait_, limit_ns);
      }
    }
    for (; done_ < last_task_.at(stream); ++done_) {
      CHECK(tasks_[done_].first->DeliverRuns(tasks_[done_].second, sink_));
    }
  }
  void ReturnAll() override {
    for (const auto& [stream, task] : last_task_) WaitFor(stream);
  }
  std::size_t taken() const { return tasks_.size(); }
  // Up to when anything was offered before the reader waited.
  std::optional<std::uint64_t> offered_at_first_wait() const {
    return offered_at_first_wait_;
  }
  // By stream.
  std::map<std::uint32_t, std::size_t> tasks_of_tid(std::int32_t tid) const {
    std::map<std::uint32_t, std::size_t> tasks;
    for (const auto& [stream, of] : owners_) tasks[stream] += of == tid ? 1 : 0;
    std::erase_if(tasks, [](const auto& task) { return task.second == 0; });
    return tasks;
  }

 private:
  ItemSink& sink_;
  std::vector<std::pair<RunSource*, std::uint64_t>> tasks_;
  std::map<std::uint32_t, std::size_t> last_task_;  // of each stream
  std::vector<std::pair<std::uint32_t, std::int32_t>> owners_;  // of each task
  std::size_t done_ = 0;
  std::optional<std::uint64_t> offered_at_first_wait_;
};

TEST_CASE("thread runs: to one who is late no more is offered than there is",
          "[logformat]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  WritePoints(temp / "t", 1000);
  auto reader = TraceReader::Open(temp / "t");
  REQUIRE(reader.ok());
  Transcript transcript;
  Late late(transcript);
  REQUIRE((*reader)->ReadThreadRuns(transcript, nullptr, nullptr, &late).ok());
  CHECK(transcript.items.size() == 3000);
  // So short a trace is one slice; the second is for what ends with it.
  CHECK(late.taken() >= kPointThreads);
  CHECK(late.taken() <= 2 * kPointThreads);
}

// A thread that begins in the stream that another one leaves, and goes on in
// one of its own; `overlap`: and uses the first one once more.
std::map<std::uint32_t, std::size_t> HoldsOfTwoStreams(const std::string& path,
                                                       bool overlap) {
  {
    TraceBuilder builder(path);
    const std::uint32_t hook = builder.AddPoint("p", "h");
    ThreadStreamBuilder& left = builder.Thread(1, 9);
    left.Point(hook, 10);
    left.SetThread(1, 1);
    for (std::uint64_t t = 1; t <= 100; ++t) left.Point(hook, 10 + t);
    ThreadStreamBuilder& own = builder.Thread(1, 1);
    for (std::uint64_t t = 1; t <= 1000; ++t) own.Point(hook, 1000 + t);
    if (overlap) left.Point(hook, 1500);
    builder.Finish();
  }
  auto reader = TraceReader::Open(path);
  REQUIRE(reader.ok());
  Transcript transcript, runs;
  Late late(transcript);
  REQUIRE((*reader)->ReadThreadRuns(transcript, nullptr, nullptr, &late).ok());
  REQUIRE((*reader)->ReadThreadRuns(runs).ok());
  CHECK(transcript.Sequences() == runs.Sequences());
  CHECK(transcript.items.size() == (overlap ? 1102 : 1101));
  return late.tasks_of_tid(1);
}

TEST_CASE("thread runs: a thread may go on in another stream", "[logformat]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  CHECK(HoldsOfTwoStreams(temp / "one", /*overlap=*/false).size() == 2);
  // Which of two at a time comes first is for the reader to say.
  CHECK(HoldsOfTwoStreams(temp / "both", /*overlap=*/true).empty());
}

TEST_CASE("thread runs: for the end of a thread nobody waits", "[logformat]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  constexpr std::uint64_t kLast = 1'000'000;
  {
    TraceBuilder builder(temp / "t");
    const std::uint32_t hook = builder.AddPoint("p", "h");
    for (std::uint64_t t = 1; t <= kLast; ++t) {
      if (t <= kLast / 10) builder.Thread(1, 1).Point(hook, 10 * t);
      builder.Thread(1, 2).Point(hook, 10 * t + 1);
    }
    builder.Finish();
  }
  auto reader = TraceReader::Open(temp / "t");
  REQUIRE(reader.ok());
  Transcript transcript;
  Late late(transcript);
  REQUIRE((*reader)->ReadThreadRuns(transcript, nullptr, nullptr, &late).ok());
  CHECK(transcript.items.size() == kLast + kLast / 10);
  REQUIRE(late.offered_at_first_wait().has_value());
  CHECK(*late.offered_at_first_wait() > 10 * kLast);
}

struct Stopper {
  int calls = 0;
  static bool Callback(void* context, std::uint64_t, std::uint64_t) {
    return ++static_cast<Stopper*>(context)->calls != 2;
  }
};

TEST_CASE("thread runs: a stop is one", "[logformat]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  GeneratorOptions options;
  options.records = 60'000;
  Generate(builder, 1, options);
  builder.Finish();
  auto reader = TraceReader::Open(temp / "t");
  REQUIRE(reader.ok());
  Transcript whole, part;
  Stopper stopper;
  REQUIRE((*reader)->ReadThreadRuns(whole).ok());
  const absl::Status status =
      (*reader)->ReadThreadRuns(part, Stopper::Callback, &stopper);
  CHECK(absl::IsCancelled(status));
  CHECK(stopper.calls == 2);
  CHECK(part.items.size() < whole.items.size());
}

TEST_CASE("thread runs: a stop while streams are elsewhere", "[logformat]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  WritePoints(temp / "t", 100'000);
  auto reader = TraceReader::Open(temp / "t");
  REQUIRE(reader.ok());
  Transcript transcript;
  Locked sink(transcript);
  Stopper stopper;
  Elsewhere elsewhere(sink, 1);
  const absl::Status status =
      (*reader)->ReadThreadRuns(sink, Stopper::Callback, &stopper, &elsewhere);
  CHECK(absl::IsCancelled(status));
  CHECK(stopper.calls == 2);
  CHECK(elsewhere.taken > 0);
  CHECK(transcript.items.size() < 300'000);
}

}  // namespace
}  // namespace countrace::logformat
