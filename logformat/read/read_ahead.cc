#include "logformat/read/read_ahead.h"

#include <sched.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace countrace::logformat {
namespace {

// A batch is small enough to be still in a cache when it is consumed.
constexpr std::size_t kBatchRecords = 512;
constexpr std::size_t kBatches = 8;

struct Loss {
  std::size_t before;  // index of the record that comes next
  std::variant<DiscardedEvents, DiscardedPackets> what;
};

struct Batch {
  std::size_t size = 0;  // of `records`
  std::vector<Loss> losses;
  bool last = false;
  std::array<EventRecord, kBatchRecords> records;
};

// Batches in the order of reading, between one producer and one consumer.
class BatchRing {
 public:
  // The next batch to fill, empty; waits until it was consumed.
  Batch& ToFill() {
    const std::uint64_t filled = filled_.load(std::memory_order_relaxed);
    WaitUntilAbove(consumed_, filled, kBatches);
    Batch& batch = batches_[filled % kBatches];
    batch.losses.clear();
    return batch;
  }
  void Filled() { Count(filled_); }

  // The next batch to consume; waits until it was filled.
  Batch& ToConsume() {
    const std::uint64_t consumed = consumed_.load(std::memory_order_relaxed);
    WaitUntilAbove(filled_, consumed, 0);
    return batches_[consumed % kBatches];
  }
  void Consumed() { Count(consumed_); }

 private:
  // Until `count` + `lead` > `own`.
  static void WaitUntilAbove(const std::atomic<std::uint64_t>& count,
                             std::uint64_t own, std::uint64_t lead) {
    for (;;) {
      const std::uint64_t seen = count.load(std::memory_order_acquire);
      if (seen + lead > own) return;
      count.wait(seen, std::memory_order_acquire);
    }
  }
  static void Count(std::atomic<std::uint64_t>& count) {
    count.fetch_add(1, std::memory_order_release);
    count.notify_one();
  }

  std::vector<Batch> batches_{kBatches};
  alignas(64) std::atomic<std::uint64_t> filled_{0};
  alignas(64) std::atomic<std::uint64_t> consumed_{0};
};

class BatchFiller final : public ItemSink {
 public:
  explicit BatchFiller(BatchRing& ring) : ring_(ring) { Begin(); }

  void OnRecord(const EventRecord& record) override {
    *next_++ = record;
    if (next_ == end_) [[unlikely]]
      Next();
  }
  void OnDiscardedEvents(const DiscardedEvents& loss) override { Add(loss); }
  void OnDiscardedPackets(const DiscardedPackets& loss) override { Add(loss); }

  void Finish() {
    batch_->last = true;
    End();
  }

 private:
  template <typename What>
  void Add(const What& what) {
    batch_->losses.push_back({Size(), what});
    if (batch_->losses.size() == kBatchRecords) Next();
  }
  std::size_t Size() const {
    return static_cast<std::size_t>(next_ - batch_->records.data());
  }
  void Begin() {
    batch_ = &ring_.ToFill();
    next_ = batch_->records.data();
    end_ = next_ + kBatchRecords;
  }
  void End() {
    batch_->size = Size();
    ring_.Filled();
  }
  void Next() {
    End();
    Begin();
  }

  BatchRing& ring_;
  Batch* batch_ = nullptr;
  EventRecord* next_ = nullptr;
  EventRecord* end_ = nullptr;
};

// What the caller's callback says and hears, from the thread that decodes.
struct SharedProgress {
  std::atomic<std::uint64_t> done{0}, total{0};
  std::atomic<bool> stop{false};

  static bool Callback(void* context, std::uint64_t done, std::uint64_t total) {
    auto* shared = static_cast<SharedProgress*>(context);
    shared->done.store(done, std::memory_order_relaxed);
    shared->total.store(total, std::memory_order_relaxed);
    return !shared->stop.load(std::memory_order_relaxed);
  }
};

void Deliver(const Loss& loss, ItemSink& sink) {
  if (const auto* events = std::get_if<DiscardedEvents>(&loss.what)) {
    sink.OnDiscardedEvents(*events);
  } else {
    sink.OnDiscardedPackets(std::get<DiscardedPackets>(loss.what));
  }
}

void Deliver(const Batch& batch, ItemSink& sink) {
  std::size_t next = 0;
  for (const Loss& loss : batch.losses) {
    while (next < loss.before) sink.OnRecord(batch.records[next++]);
    Deliver(loss, sink);
  }
  while (next < batch.size) sink.OnRecord(batch.records[next++]);
}

}  // namespace

bool IsReadAheadWorthwhile() {
  cpu_set_t cpus;
  return sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) > 1;
}

absl::Status ReadAhead(TraceReader& reader, ItemSink& sink,
                       ProgressCallback progress, void* progress_context) {
  if (!reader.keeps_records()) {
    return reader.Read(sink, progress, progress_context);
  }
  BatchRing ring;
  SharedProgress shared;
  absl::Status status;
  std::thread decoder([&] {
    BatchFiller filler(ring);
    status = reader.Read(filler, SharedProgress::Callback, &shared);
    filler.Finish();
  });
  std::uint64_t said = 0;
  bool stopped = false;
  for (bool last = false; !last;) {
    const Batch& batch = ring.ToConsume();
    if (!stopped) Deliver(batch, sink);
    last = batch.last;
    ring.Consumed();
    const std::uint64_t done = shared.done.load(std::memory_order_relaxed);
    if (progress == nullptr || stopped || done == said) continue;
    said = done;
    const std::uint64_t total = shared.total.load(std::memory_order_relaxed);
    stopped = !progress(progress_context, done, total);
    shared.stop.store(stopped, std::memory_order_relaxed);
  }
  decoder.join();
  // The decoder may have reached the end before it heard of it.
  if (stopped && status.ok()) {
    return absl::CancelledError("Reading stopped near the end");
  }
  return status;
}

}  // namespace countrace::logformat
