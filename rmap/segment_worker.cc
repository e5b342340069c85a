#include "rmap/segment_worker.h"

#include <algorithm>
#include <utility>

#include "rmap/spin_wait.h"

namespace countrace::rmap {

namespace {

// Its calls cannot be found again in other paths. Requires: it is settled.
bool IsFolded(const ThreadState& thread) {
  return !thread.stack.frames.empty() &&
         thread.stack.Top()->hook_id == PathNode::kFolded;
}

}  // namespace

SegmentWorker::SegmentWorker(std::size_t thread_events,
                             const KernelCoverage& coverage,
                             const std::vector<logformat::HookOrigin>& origins,
                             const std::vector<logformat::HookKind>& kinds,
                             bool late)
    : lanes_{{{thread_events, coverage, origins, kinds},
              {thread_events, coverage, origins, kinds}}},
      late_(late),
      worker_([this] { Work(); }) {}

bool SegmentWorker::Takes(ThreadState& thread) {
  if (!worker_.joinable()) return false;
  const ThreadState* const last = std::exchange(last_, &thread);
  const bool alone = last == nullptr || last == &thread;
  // Off its CPU, others know where in its paths it is.
  if (thread.left_cpu) return thread.lane != nullptr;
  if (thread.lane == nullptr) {
    // While it is the only one, nothing can be done beside it.
    if (alone || IsFolded(thread)) return false;
    thread.lane = &LaneForNew();
    thread.lane_hook_ns = thread.last_hook_ns;
    adopt_ = true;
  } else if (ShouldMove(thread)) {
    Move(thread);
  }
  return true;
}

// The shorter one, or the one that had less to do so far.
SegmentLane& SegmentWorker::LaneForNew() {
  const std::uint64_t own = mine().waiting(), others = theirs().waiting();
  if (own + kEnough < others) return mine();
  if (others + kEnough < own) return theirs();
  return mine().filled() < theirs().filled() ? mine() : theirs();
}

bool SegmentWorker::ShouldMove(const ThreadState& thread) {
  if (moving_.thread != nullptr) return false;  // one at a time
  SegmentLane& lane = *thread.lane;
  // All that there is is the worker's, and is waited for: then it need not be.
  if (&lane == &theirs() && theirs_in_a_row_ >= kAloneAfter &&
      lane.waiting() == 0) {
    return true;
  }
  // The worker should have some more.
  const std::uint64_t others = OtherThan(lane).waiting();
  const std::uint64_t even = &lane == &mine() ? others : others + kEnough;
  return lane.waiting() >= even + kUneven && !IsOfOne(lane);
}

void SegmentWorker::Move(ThreadState& thread) {
  ++shared_.moves;
  if (thread.lane_wait_ns != 0) {  // that was in this lane
    Add({.thread = &thread, .wait_ns = std::exchange(thread.lane_wait_ns, 0)});
  }
  moving_.thread = &thread;
  moving_.from = thread.lane;
  moving_.after = std::exchange(thread.last_task, kNotYet);
}

// Its open calls cannot be found in other paths before its tasks are done.
void SegmentWorker::FinishMove() {
  if (moving_.thread == nullptr || !moving_.from->IsDone(moving_.after)) return;
  ThreadState& thread = *std::exchange(moving_.thread, nullptr);
  const bool stays = IsFolded(thread);
  if (!stays) thread.lane = &OtherThan(*moving_.from);
  moving_.tasks.front().adopt = !stays;
  for (const SegmentLane::Task& task : moving_.tasks) Add(task);
  moving_.tasks.clear();
}

void SegmentWorker::Run(ThreadState& thread, logformat::RunSource& source,
                        const SegmentLane::Stretch& off_cpu,
                        const SegmentLane::Stretch& stretch) {
  // It may leave its CPU next.
  thread.place_told = stretch.now.on_cpu;
  Add({.adopt = std::exchange(adopt_, false),
       .note_place = stretch.now.on_cpu,
       .thread = &thread,
       .source = &source,
       .wait_ns = std::exchange(thread.lane_wait_ns, 0),
       .stretch = stretch,
       .off_cpu = off_cpu});
  FinishMove();
  Balance();
}

void SegmentWorker::NotePlace(ThreadState& thread) {
  if (thread.place_told) return;
  thread.place_told = true;
  Add({.note_place = true,
       .thread = &thread,
       .wait_ns = std::exchange(thread.lane_wait_ns, 0)});
}

void SegmentWorker::Add(const SegmentLane::Task& task) {
  ThreadState& thread = *task.thread;
  if (&thread == moving_.thread) {
    if (moving_.tasks.size() == kMostMoving) {
      Settle(thread);
    } else {
      moving_.tasks.push_back(task);
      return;
    }
  }
  NoteTask(task);
  Next(*thread.lane) = task;
  Publish(*thread.lane);
  thread.last_task = thread.lane->filled();
}

void SegmentWorker::NoteTask(const SegmentLane::Task& task) {
  const std::size_t lane = IndexOf(*task.thread->lane);
  const bool again = std::exchange(last_of_[lane], task.thread) == task.thread;
  in_a_row_[lane] = again ? in_a_row_[lane] + 1 : 1;
  if (task.source == nullptr) return;
  if (lane == mine_) {
    theirs_in_a_row_ = 0;
  } else {
    ++theirs_in_a_row_;
    ++shared_.runs;
  }
}

SegmentLane::Task& SegmentWorker::Next(SegmentLane& lane) {
  while (lane.waiting() == SegmentLane::kTasks) {
    if (IsSwapping()) {
      WaitUntilNot(swaps_done_, shared_.swaps - 1);
    } else if (&lane == &mine()) {
      lane.Step();
    } else {
      // Who waits for one place waits again for the next: each time two threads
      // have to be woken.
      WaitFor(lane, lane.filled() - SegmentLane::kTasks / 2);
    }
  }
  return lane.Next();
}

void SegmentWorker::Publish(SegmentLane& lane) {
  lane.Publish();
  if (&lane == &theirs() || swapping_) Ring();
}

void SegmentWorker::Ring() {
  bell_.store(++rings_, std::memory_order_release);
  bell_.notify_one();
}

void SegmentWorker::Balance() {
  if (IsSwapping()) return;
  std::uint64_t others = theirs().waiting();
  while (others >= kEnough && mine().Step()) others = theirs().waiting();
  if (ShouldSwap()) AskForSwap();
}

std::uint64_t SegmentWorker::TooUneven(const SegmentLane& lane) {
  const std::uint64_t records =
      std::max<std::uint64_t>(1, lane.records_a_task());
  return std::clamp(kUnevenRecords / records, kLeastUneven, kMostUneven);
}

// Whoever does the longer one is the slower of two, if it gets longer still.
bool SegmentWorker::ShouldSwap() {
  const std::uint64_t own = mine().waiting(), others = theirs().waiting();
  const std::size_t longer = own > others ? mine_ : 1 - mine_;
  const std::uint64_t lag = own > others ? own - others : others - own;
  const std::uint64_t uneven = TooUneven(lanes_[longer]);
  if (longer != longer_ || lag <= kEnough) {
    longer_ = longer;
    least_lag_ = lag;
    swapped_at_lag_ = 0;
    patience_ = uneven;
    return false;
  }
  least_lag_ = std::min(least_lag_, lag);
  if (lag < least_lag_ + std::max(patience_, uneven)) return false;
  // Where more than one thread waits, one of them had better move.
  if (!IsOfOne(lanes_[longer])) return false;
  // It has more to do, whoever does it?
  patience_ =
      lag > swapped_at_lag_ && swapped_at_lag_ != 0 ? 2 * patience_ : uneven;
  swapped_at_lag_ = least_lag_ = lag;
  return true;
}

// Until the worker has said that it takes it, nobody does the caller's lane.
void SegmentWorker::AskForSwap() {
  swapping_ = true;
  swaps_asked_.store(++shared_.swaps, std::memory_order_release);
  Ring();
}

bool SegmentWorker::IsSwapping() {
  if (!swapping_) return false;
  if (swaps_done_.load(std::memory_order_acquire) != shared_.swaps) return true;
  swapping_ = false;
  mine_ = 1 - mine_;
  return false;
}

void SegmentWorker::WaitFor(SegmentLane& lane, std::uint64_t task) {
  while (IsSwapping()) WaitUntilNot(swaps_done_, shared_.swaps - 1);
  if (&lane == &mine()) {
    while (!lane.IsDone(task)) lane.Step();
    return;
  }
  if (!lane.IsDone(task)) ++shared_.waits;
  if (late_) {
    asked_[1 - mine_].store(task, std::memory_order_release);
    Ring();
  }
  while (!lane.IsDone(task)) {
    if (mine().Step()) continue;
    const std::uint64_t done = lane.filled() - lane.waiting();
    if (done < task) lane.WaitForMoreThan(done);
  }
}

void SegmentWorker::WaitFor(const ThreadState& thread) {
  if (&thread == moving_.thread) {
    WaitFor(*moving_.from, moving_.after);
    FinishMove();
  }
  WaitFor(*thread.lane, thread.last_task);
}

void SegmentWorker::SettleAll() {
  if (moving_.thread != nullptr) WaitFor(*moving_.thread);
  for (SegmentLane& lane : lanes_) WaitFor(lane, lane.filled());
}

void SegmentWorker::Stop() {
  if (!worker_.joinable()) return;
  SettleAll();
  stop_.store(true, std::memory_order_release);
  Ring();
  worker_.join();
}

void SegmentWorker::Work() {
  std::size_t at = 1;  // lane
  std::uint64_t swaps = 0;
  const auto step = [&] {
    return late_ ? lanes_[at].Step(asked_[at].load(std::memory_order_acquire))
                 : lanes_[at].Step();
  };
  const auto swap = [&] {
    if (swaps_asked_.load(std::memory_order_acquire) == swaps) return false;
    at = 1 - at;
    swaps_done_.store(++swaps, std::memory_order_release);
    swaps_done_.notify_one();
    return true;
  };
  while (!stop_.load(std::memory_order_acquire)) {
    if (swap() || step()) continue;
    // Whatever comes after this look rings again.
    const std::uint64_t bell = bell_.load(std::memory_order_acquire);
    if (swap() || step() || stop_.load(std::memory_order_acquire)) continue;
    WaitUntilNot(bell_, bell);
  }
}

}  // namespace countrace::rmap
