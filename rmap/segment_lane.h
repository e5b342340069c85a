// The hook records of some threads, run after run, in the order in which they
// are to be read: a queue that one thread fills (the caller) and that one at a
// time empties (the caller or the worker, see segment_worker.h).
//
//   caller: Next() fill Publish() --> [ task | task | ... ] --> Step() whoever
//
// A lane has segments and paths of its own, which are merged at the end. In:
// tasks, in the order of time. Out: Findings. Thread: as said.
#ifndef COUNTRACE_RMAP_SEGMENT_LANE_H_
#define COUNTRACE_RMAP_SEGMENT_LANE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "logformat/read/run_sharing.h"
#include "logformat/read/trace_reader.h"
#include "rmap/segments/segment_builder.h"
#include "rmap/state/call_paths.h"
#include "rmap/state/hook_hits.h"
#include "rmap/state/thread_registry.h"

namespace countrace::rmap {

class SegmentLane {
 public:
  // Enough for what the scheduler or the host takes from one of two CPUs.
  static constexpr std::size_t kTasks = 256;

  // Records before `limit_ns`, and what the kernel's say of their thread.
  struct Stretch {
    std::uint64_t limit_ns = 0;
    ThreadNow now = {};
  };
  struct alignas(64) Task {
    bool adopt = false;  // its open calls are in other paths
    bool note_place = false;
    bool end = false;           // all its calls end at the limit of `stretch`
    StackNote* note = nullptr;  // to be told afterwards
    ThreadState* thread = nullptr;
    logformat::RunSource* source = nullptr;  // null: no run
    std::uint64_t wait_ns = 0;               // before the run, at lane_place
    Stretch stretch = {}, off_cpu = {};      // the latter comes before
  };
  struct Findings {
    std::uint64_t records = 0;
    std::uint64_t end_ns = 0;  // of the last of them
    absl::flat_hash_map<ProcessState*, HookHits> hits;
  };

  // `kinds`: of hooks.
  SegmentLane(std::size_t thread_events, const KernelCoverage& coverage,
              const std::vector<logformat::HookOrigin>& origins,
              const std::vector<logformat::HookKind>& kinds);
  SegmentLane(const SegmentLane&) = delete;
  SegmentLane& operator=(const SegmentLane&) = delete;

  // --- The caller's ----------------------------------------------------------
  std::uint64_t filled() const { return filled_; }
  std::uint64_t waiting() const {
    return filled_ - done_.load(std::memory_order_acquire);
  }
  // Requires: waiting() < kTasks.
  Task& Next() { return tasks_[filled_ % kTasks]; }
  void Publish() { published_.store(++filled_, std::memory_order_release); }
  bool IsDone(std::uint64_t task) const {
    return done_.load(std::memory_order_acquire) >= task;
  }
  // About how many the last tasks had.
  std::uint64_t records_a_task() const {
    return records_.load(std::memory_order_relaxed) / kMeanOf;
  }
  // Until more than `done` are.
  void WaitForMoreThan(std::uint64_t done) const;

  // --- Of who does the tasks -------------------------------------------------
  // Does the next one, unless `limit` are done; false: none is there.
  bool Step(std::uint64_t limit = ~std::uint64_t{0});

  // --- Requires: every task is done ------------------------------------------
  Findings TakeFindings() { return std::exchange(findings_, {}); }
  CallPaths& paths() { return paths_; }
  SegmentBuilder& segments() { return segments_; }

  // It met what only somebody who sees all items in their order can place: what
  // was and will be done is not the result.
  bool failed() const { return failed_.load(std::memory_order_relaxed); }

 private:
  class Runs;  // the sink of a stretch

  static constexpr std::uint64_t kMeanOf = 16;

  void Do(const Task& task);
  void Deliver(const Task& task, const Stretch& stretch);

  // Nothing that one thread writes and the other reads or writes often is in
  // one cache line with something else.
  // --- Both read -------------------------------------------------------------
  alignas(64) std::vector<Task> tasks_{kTasks};
  const std::vector<logformat::HookKind>& kinds_;
  std::atomic<bool> failed_{false};
  // --- Of who does the tasks -------------------------------------------------
  alignas(64) CallPaths paths_;
  SegmentBuilder segments_;
  Findings findings_;
  std::uint64_t begun_ = 0;
  std::uint64_t known_ = 0;  // so many are there, at least
  // --- From one to the other -------------------------------------------------
  alignas(64) std::uint64_t filled_ = 0;
  std::atomic<std::uint64_t> published_{0};
  alignas(64) std::atomic<std::uint64_t> done_{0};
  std::atomic<std::uint64_t> records_{0};  // of kMeanOf tasks, about
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SEGMENT_LANE_H_
