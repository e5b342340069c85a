// A second thread for segments: it reads the hook records of some threads, and
// does their segments, while the caller does those of the others and all that
// the kernel says.
//
//   with the caller --(the worker has next to nothing to do, and the caller has
//   others)--> with the worker --(the worker has much to do, but nothing of
//   this thread; or far too much, then the caller waits)--> with the caller
//
// Who has a thread's segments has its SegmentStack. The worker's have paths of
// their own, which are merged at the end: nothing but sums that are the same in
// any order, so that the result does not depend on who did what. In: runs, in
// the order of time. Thread: one caller's.
#ifndef COUNTRACE_RMAP_SEGMENT_WORKER_H_
#define COUNTRACE_RMAP_SEGMENT_WORKER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "logformat/run_sharing.h"
#include "logformat/trace_reader.h"
#include "rmap/hook_hits.h"
#include "rmap/segment_builder.h"
#include "rmap/thread_registry.h"

namespace countrace::rmap {

class SegmentWorker {
 public:
  // `segments` is the worker's alone while it has tasks; `kinds`: of hooks.
  // `late`: no task is begun before one is waited for (tests).
  SegmentWorker(SegmentBuilder& segments,
                const std::vector<logformat::HookKind>& kinds, bool late);
  ~SegmentWorker() { Stop(); }
  SegmentWorker(const SegmentWorker&) = delete;
  SegmentWorker& operator=(const SegmentWorker&) = delete;

  // Who is to do the next run of `thread`.
  enum class Whose : std::uint8_t {
    kWorkers,     // Run()
    kCallers,     // as before
    kCallersNow,  // its open calls are still in the worker's paths
  };
  Whose Choose(ThreadState& thread);
  // The records of `source` before `limit_ns`. Requires: Choose(thread) said
  // so; what the records point to stays until Stop(). It is thread.last_task.
  void Run(ThreadState& thread, const ThreadNow& now,
           logformat::RunSource& source, std::uint64_t limit_ns);
  // The caller does a run of `thread`.
  void NoteOwnRun(const ThreadState& thread) {
    callers_last_ = &thread;
    given_in_a_row_ = 0;
  }
  // `thread` leaves its CPU: worker_place is where its records so far led.
  // Requires: it is with the worker.
  void NotePlace(ThreadState& thread);
  // It waited for a CPU there. Requires: the same.
  static void AddWait(ThreadState& thread, std::uint64_t ns) {
    thread.worker_wait_ns += ns;
  }

  bool IsDone(std::uint64_t task) const {
    return done_.load(std::memory_order_acquire) >= task;
  }
  void WaitFor(std::uint64_t task);
  // Waits until the stack of `thread` is as its records so far left it, and
  // worker_place and worker_hook_ns as well.
  void Settle(const ThreadState& thread) {
    if (!IsDone(thread.last_task)) [[unlikely]]
      WaitFor(thread.last_task);
  }
  // Waits for everything: `segments` is the caller's until the next Run().
  void SettleAll() { WaitFor(filled_); }
  // The same for good.
  void Stop();

  // What the worker found, so far. Requires: SettleAll().
  struct Findings {
    std::uint64_t records = 0;
    std::uint64_t end_ns = 0;  // of the last of them
    absl::flat_hash_map<ProcessState*, HookHits> hits;
  };
  Findings TakeFindings() { return std::exchange(findings_, {}); }
  std::uint64_t runs() const { return runs_; }
  // It met what only somebody who sees all items in their order can place: what
  // was and will be done is not the result.
  bool failed() const { return failed_.load(std::memory_order_relaxed); }

 private:
  class Runs;  // the sink of a task's records

  // Enough for what the scheduler or the host takes from one of two CPUs.
  static constexpr std::size_t kTasks = 256;
  // With fewer tasks waiting it takes threads, with so many it gives them away.
  static constexpr std::uint64_t kFewTasks = 2;
  static constexpr std::uint64_t kManyTasks = 8;
  // With so many it gives one away even if the caller has to wait for it.
  static constexpr std::uint64_t kTooManyTasks = 64;
  // Each time doubles how often the worker must be seen idle before it takes
  // that thread again, up to so often.
  static constexpr std::uint32_t kMostPatience = 256;
  // So many runs after each other were the worker's: the caller has none.
  static constexpr std::uint32_t kIdleAfter = 8;
  static constexpr std::uint32_t kAloneAfter = 64;

  struct alignas(64) Task {
    bool stop = false;   // and nothing else
    bool adopt = false;  // its open calls are in the caller's paths
    bool note_place = false;
    ThreadState* thread = nullptr;
    logformat::RunSource* source = nullptr;  // null: no run
    std::uint64_t limit_ns = 0;
    std::uint64_t wait_ns = 0;  // before the run, at worker_place
    ThreadNow now;
  };

  Task& Next();  // to be filled
  void Tell(ThreadState& thread, bool note_place);
  void Publish();
  void Work();
  void Do(const Task& task);

  // Nothing that one thread writes and the other reads or writes often is in
  // one cache line with something else.
  // --- Both read -----------------------------------------------------------
  SegmentBuilder& segments_;
  const std::vector<logformat::HookKind>& kinds_;
  std::vector<Task> tasks_{kTasks};
  const bool late_;
  std::atomic<std::uint64_t> asked_{0};  // the task that is waited for, if late
  std::atomic<bool> failed_{false};
  // --- The caller's --------------------------------------------------------
  alignas(64) std::uint64_t filled_ = 0;
  std::uint64_t runs_ = 0;
  bool adopt_ = false;  // with the next Run()
  std::uint32_t given_in_a_row_ = 0;
  const ThreadState* callers_last_ = nullptr;
  // --- The worker's --------------------------------------------------------
  alignas(64) Findings findings_;
  // --- From one to the other -----------------------------------------------
  alignas(64) std::atomic<std::uint64_t> published_{0};
  alignas(64) std::atomic<std::uint64_t> done_{0};
  std::thread worker_;  // last: it uses the others
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SEGMENT_WORKER_H_
