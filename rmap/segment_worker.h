// A second thread for segments: it does runs of hook records of some threads,
// and for the reader the work on pages, while the caller reads on.
//
//   with the caller --(a run begins, the worker has little to do)--> with the
//   worker --(a run begins, it has much to do, but none of this thread)-->
//   with the caller
//
// Who has a thread's segments has its SegmentStack. The worker's have paths of
// their own, which are merged at the end: nothing but sums that are the same in
// any order, so that the result does not depend on who did what. In: runs, in
// the order of time. Thread: one caller's.
#ifndef COUNTRACE_RMAP_SEGMENT_WORKER_H_
#define COUNTRACE_RMAP_SEGMENT_WORKER_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "logformat/trace_reader.h"
#include "rmap/hook_hits.h"
#include "rmap/segment_builder.h"
#include "rmap/thread_registry.h"

namespace countrace::rmap {

class SegmentWorker final : public logformat::PageKeeper {
 public:
  // `segments` is the worker's alone while it has tasks; `kinds`: of hooks.
  SegmentWorker(SegmentBuilder& segments,
                const std::vector<logformat::HookKind>& kinds);
  ~SegmentWorker() override { Stop(); }
  SegmentWorker(const SegmentWorker&) = delete;
  SegmentWorker& operator=(const SegmentWorker&) = delete;

  // Who is to do the next run of `thread`.
  enum class Whose : std::uint8_t {
    kWorkers,     // Run()
    kCallers,     // as before
    kCallersNow,  // its open calls are still in the worker's paths
  };
  Whose Choose(ThreadState& thread);
  // Requires: Choose(thread) said so; what `records` point to stays until
  // Stop().
  void Run(ThreadState& thread, const ThreadNow& now,
           std::span<const logformat::ThreadRecord> records);
  // `thread` leaves its CPU: sets worker_place. Requires: it is with the
  // worker.
  void NotePlace(ThreadState& thread);
  // It waited for a CPU there. Requires: the same.
  void AddWait(ThreadState& thread, std::uint64_t ns);
  // Waits until the stack of `thread` is as its records so far left it, and
  // worker_place as well.
  void Settle(const ThreadState& thread) {
    if (thread.last_task > done_.load(std::memory_order_acquire)) [[unlikely]]
      WaitFor(thread.last_task);
  }
  // Waits for everything: `segments` is the caller's until the next Run().
  void SettleAll() { WaitFor(filled_); }
  // The same for good.
  void Stop();

  void WillRead(std::span<const std::byte> bytes) override;
  void WasRead(std::span<const std::byte> bytes) override;

  // Requires: SettleAll().
  absl::flat_hash_map<ProcessState*, HookHits> TakeHits() {
    return std::exchange(hits_, {});
  }

 private:
  static constexpr std::size_t kTasks = 256;
  // With so many tasks waiting it gives threads away, with so few it takes
  // some.
  static constexpr std::uint64_t kManyTasks = 16;
  static constexpr std::uint64_t kFewTasks = 8;

  struct Task {
    enum class Kind : std::uint8_t {
      kStop,
      kRun,
      kNotePlace,
      kAddWait,
      kWillRead,
      kWasRead
    };
    Kind kind = Kind::kStop;
    ThreadState* thread = nullptr;
    ThreadNow now;
    std::uint64_t ns = 0;
    bool adopt = false;  // its open calls are in the caller's paths
    std::span<const std::byte> pages;  // kWasRead
    std::size_t size = 0;
    std::array<logformat::ThreadRecord, 128> records;
  };

  Task& Next();  // to be filled
  void Tell(ThreadState& thread, Task::Kind kind, std::uint64_t ns);
  void Publish();
  void WaitFor(std::uint64_t task);
  void Work();
  void Do(const Task& task);
  void MapPages();
  void DoRun(const Task& task);

  SegmentBuilder& segments_;
  const std::vector<logformat::HookKind>& kinds_;
  std::vector<Task> tasks_{kTasks};
  std::uint64_t filled_ = 0;  // the caller's
  bool adopt_ = false;        // with the next Run()
  absl::flat_hash_map<ProcessState*, HookHits> hits_;
  // Pages that the caller comes to soon: before any other task. If there are
  // more, it maps them itself.
  static constexpr std::size_t kPageRequests = 64;
  std::array<std::span<const std::byte>, kPageRequests> pages_;
  alignas(64) std::atomic<std::uint64_t> pages_asked_{0};
  alignas(64) std::atomic<std::uint64_t> pages_mapped_{0};
  alignas(64) std::atomic<std::uint64_t> published_{0};
  alignas(64) std::atomic<std::uint64_t> done_{0};
  std::thread worker_;  // last: it uses the others
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SEGMENT_WORKER_H_
