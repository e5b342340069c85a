// A second thread for segments: it does runs of hook records of some threads,
// and for the reader the work on pages, while the caller reads on.
//
//   thread, its segments with the caller  --(run, when the worker has little to
//        do and no call is open)--> with the worker --(the same, when it has
//        much)--> with the caller
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

  // True if the next run of `thread` is to be this one's: else the caller's,
  // and what the worker had to do for it is done.
  bool Takes(ThreadState& thread);
  // Requires: Takes(thread); what `records` point to stays until Stop().
  void Run(ThreadState& thread, const ThreadNow& now,
           std::span<const logformat::ThreadRecord> records);
  // `thread` leaves its CPU: sets off_cpu_in. Requires: it is with the worker.
  void NotePlace(ThreadState& thread) {
    Tell(thread, Task::Kind::kNotePlace, 0);
  }
  // It waited for a CPU where it left. Requires: the same.
  void AddWait(ThreadState& thread, std::uint64_t ns) {
    Tell(thread, Task::Kind::kAddWait, ns);
  }
  // Waits until the stack of `thread` is as its records so far left it.
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
  // With so many tasks waiting, the caller does a run itself.
  static constexpr std::uint64_t kEnoughTasks = 12;

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
    std::span<const std::byte> pages;
    std::size_t size = 0;
    std::array<logformat::ThreadRecord, 128> records;
  };

  Task& Next();  // to be filled
  void Tell(ThreadState& thread, Task::Kind kind, std::uint64_t ns);
  void Publish();
  void WaitFor(std::uint64_t task);
  void Work();
  void Do(const Task& task);
  void DoRun(const Task& task);

  SegmentBuilder& segments_;
  const std::vector<logformat::HookKind>& kinds_;
  std::vector<Task> tasks_{kTasks};
  std::uint64_t filled_ = 0;    // the caller's
  std::uint64_t assigned_ = 0;  // threads, first to one, then to the other
  absl::flat_hash_map<ProcessState*, HookHits> hits_;
  alignas(64) std::atomic<std::uint64_t> published_{0};
  alignas(64) std::atomic<std::uint64_t> done_{0};
  std::thread worker_;  // last: it uses the others
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SEGMENT_WORKER_H_
