// A second thread for segments. The threads of a trace are in two lanes
// (segment_lane.h): the worker does the tasks of one, the caller those of the
// other between the kernel's records, which it reads ahead of them, so that
// both always have something to do.
//
//                             .-> lane: tasks of threads A, C --> the caller
//   kernel's records, runs ---|             ^ | a thread moves     ^ | lanes
//   in the order of time      |             | v to the shorter     | v swap
//                             '-> lane: tasks of threads B, D --> the worker
//
// Lanes swap when the one of the slower CPU is too long: a virtual machine's
// are seldom of one speed, and a thread's runs have to be read one after the
// other. Nothing but sums that are the same in any order is made in a lane, so
// that the result does not depend on who did what. In: runs, in the order of
// time. Thread: one caller's.
#ifndef COUNTRACE_RMAP_SEGMENT_WORKER_H_
#define COUNTRACE_RMAP_SEGMENT_WORKER_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "logformat/read/run_sharing.h"
#include "logformat/read/trace_reader.h"
#include "rmap/segment_lane.h"
#include "rmap/segments/segment_builder.h"
#include "rmap/state/thread_registry.h"

namespace countrace::rmap {

class SegmentWorker {
 public:
  // `late`: the worker begins no task before one is waited for (tests). The
  // rest as of SegmentLane.
  SegmentWorker(std::size_t thread_events, const KernelCoverage& coverage,
                const std::vector<logformat::HookOrigin>& origins,
                const std::vector<logformat::HookKind>& kinds, bool late);
  ~SegmentWorker() { Stop(); }
  SegmentWorker(const SegmentWorker&) = delete;
  SegmentWorker& operator=(const SegmentWorker&) = delete;

  // Whether the next run of `thread` is for a lane: Run(). Else it is in none,
  // and the caller does the run with segments of its own.
  bool Takes(ThreadState& thread);
  // The records of `source` in `off_cpu` (may be empty: limit 0) and then in
  // `stretch`. Requires: Takes(thread) said so; what the records point to stays
  // until Stop(). It is thread.last_task.
  void Run(ThreadState& thread, logformat::RunSource& source,
           const SegmentLane::Stretch& off_cpu,
           const SegmentLane::Stretch& stretch);
  // `thread` leaves its CPU: lane_place is where its records so far led.
  // Requires: it is in a lane.
  void NotePlace(ThreadState& thread);
  // It ends at the limit of `stretch`, and all its calls do. Requires: the
  // same.
  void End(ThreadState& thread, const SegmentLane::Stretch& stretch) {
    Add({.end = true, .thread = &thread, .stretch = stretch});
  }
  // `note` is told where it is now, at the latest by Settle(). Requires: the
  // same; the note stays until then.
  void Ask(ThreadState& thread, StackNote& note) {
    Add({.note = &note, .thread = &thread});
  }
  // It waited for a CPU there. Requires: the same.
  static void AddWait(ThreadState& thread, std::uint64_t ns) {
    thread.lane_wait_ns += ns;
  }

  // Its stack is as its records so far left it, and lane_place and lane_hook_ns
  // as well.
  static bool IsSettled(const ThreadState& thread) {
    return thread.lane == nullptr || thread.lane->IsDone(thread.last_task);
  }
  void Settle(const ThreadState& thread) {
    if (!IsSettled(thread)) [[unlikely]]
      WaitFor(thread);
  }
  // Does and waits for everything: the lanes' segments are the caller's until
  // the next Run().
  void SettleAll();
  // The same for good: it takes nothing from then on.
  void Stop();

  std::array<SegmentLane, 2>& lanes() { return lanes_; }
  // Runs that were to be the worker's, threads that changed lanes, lanes that
  // changed hands, and how often the caller could not go on before the worker
  // had done something.
  struct Shared {
    std::uint64_t runs = 0, moves = 0, swaps = 0, waits = 0;
  };
  const Shared& shared() const { return shared_; }
  bool failed() const { return lanes_[0].failed() || lanes_[1].failed(); }

 private:
  // So many tasks the worker should have before the caller does its own.
  static constexpr std::uint64_t kEnough = 5;
  // A thread moves if the other lane is so much shorter.
  static constexpr std::uint64_t kUneven = 8;
  // The lanes are swapped once one has got longer than the other by so many
  // records, which take about a millisecond, but by no less and no more than so
  // many tasks; by twice as many each time that it did not help.
  static constexpr std::uint64_t kUnevenRecords = 65'536;
  static constexpr std::uint64_t kLeastUneven = 8, kMostUneven = 64;
  // After so many runs in a row that were the worker's the caller has none.
  static constexpr std::uint64_t kAloneAfter = 64;
  // Tasks of a thread that is moving; with more, its old ones are waited for.
  static constexpr std::size_t kMostMoving = 64;
  static constexpr std::uint64_t kNotYet = ~std::uint64_t{0};

  SegmentLane& mine() { return lanes_[mine_]; }
  SegmentLane& theirs() { return lanes_[1 - mine_]; }
  std::size_t IndexOf(const SegmentLane& lane) const {
    return &lane == lanes_.data() ? 0 : 1;
  }
  SegmentLane& OtherThan(const SegmentLane& lane) {
    return lanes_[1 - IndexOf(lane)];
  }
  // All that waits there is of one thread.
  bool IsOfOne(const SegmentLane& lane) const {
    return in_a_row_[IndexOf(lane)] >= lane.waiting();
  }
  SegmentLane& LaneForNew();
  bool ShouldMove(const ThreadState& thread);
  void Move(ThreadState& thread);
  void FinishMove();
  void NoteTask(const SegmentLane::Task& task);
  void Add(const SegmentLane::Task& task);
  SegmentLane::Task& Next(SegmentLane& lane);  // to be filled
  void Publish(SegmentLane& lane);
  // Does tasks of the caller's lane while the worker has enough.
  void Balance();
  static std::uint64_t TooUneven(const SegmentLane& lane);
  bool ShouldSwap();
  void AskForSwap();
  bool IsSwapping();
  void WaitFor(SegmentLane& lane, std::uint64_t task);
  void WaitFor(const ThreadState& thread);
  void Work();
  void Ring();

  // --- Of both -----------------------------------------------------------
  std::array<SegmentLane, 2> lanes_;
  const bool late_;
  // How many tasks of each lane the worker may do, if late.
  std::array<std::atomic<std::uint64_t>, 2> asked_{};
  // --- The caller's ------------------------------------------------------
  alignas(64) std::size_t mine_ = 0;  // lane
  // From its lane to the other, once its tasks before are done there.
  struct {
    ThreadState* thread = nullptr;  // null: none
    SegmentLane* from = nullptr;
    std::uint64_t after = 0;
    std::vector<SegmentLane::Task> tasks;  // since
  } moving_;
  const ThreadState* last_ = nullptr;            // of which there was a run
  std::array<const ThreadState*, 2> last_of_{};  // of each lane
  std::array<std::uint64_t, 2> in_a_row_{};      // tasks of that
  std::uint64_t theirs_in_a_row_ = 0;
  bool swapping_ = false;
  std::size_t longer_ = 0;  // lane
  // By how much: the least since the lanes were swapped, then, and how much
  // more it may be.
  std::uint64_t least_lag_ = 0, swapped_at_lag_ = 0, patience_ = 0;
  bool adopt_ = false;  // with the next Run()
  std::uint64_t rings_ = 0;
  Shared shared_;
  // --- From one to the other ---------------------------------------------
  // Changes when the worker may have something to do.
  alignas(64) std::atomic<std::uint64_t> bell_{0};
  alignas(64) std::atomic<std::uint64_t> swaps_asked_{0};
  std::atomic<bool> stop_{false};
  alignas(64) std::atomic<std::uint64_t> swaps_done_{0};
  std::thread worker_;  // last: it uses the others
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SEGMENT_WORKER_H_
