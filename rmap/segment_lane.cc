#include "rmap/segment_lane.h"

#include <algorithm>
#include <span>
#include "rmap/spin_wait.h"

namespace countrace::rmap {

// Records of one thread, to the lane's segments.
class SegmentLane::Runs final : public logformat::ItemSink {
 public:
  Runs(SegmentLane& lane, ThreadState& thread, const ThreadNow& now)
      : lane_(lane),
        thread_(thread),
        now_(now),
        hits_(lane.findings_.hits[now.process]) {}

  void OnThreadRecords(
      const logformat::EventRecord& /*head*/,
      std::span<const logformat::ThreadRecord> records) override {
    // Two streams of one thread: who comes first is for the caller to say.
    if (records.front().time_ns < thread_.lane_hook_ns) [[unlikely]] {
      Fail();
      return;
    }
    hits_.Add(records);
    lane_.segments_.Run(thread_, now_, records, lane_.kinds_);
    lane_.findings_.records += records.size();
    thread_.lane_hook_ns = records.back().time_ns;
  }
  // A RunSource delivers none of these.
  void OnRecord(const logformat::EventRecord&) override { Fail(); }
  void OnDiscardedEvents(const logformat::DiscardedEvents&) override { Fail(); }
  void OnDiscardedPackets(const logformat::DiscardedPackets&) override {
    Fail();
  }

  void Fail() { lane_.failed_.store(true, std::memory_order_relaxed); }

 private:
  SegmentLane& lane_;
  ThreadState& thread_;
  const ThreadNow& now_;
  HookHits& hits_;
};

SegmentLane::SegmentLane(std::size_t thread_events,
                         const KernelCoverage& coverage,
                         const std::vector<logformat::HookOrigin>& origins,
                         const std::vector<logformat::HookKind>& kinds)
    : kinds_(kinds),
      paths_(thread_events),
      segments_(paths_, /*own_roots=*/true, coverage, thread_events,
                /*dumps_stay=*/true, /*kernel_events=*/0, origins, {},
                nullptr) {}

void SegmentLane::WaitForMoreThan(std::uint64_t done) const {
  WaitUntilNot(done_, done);
}

bool SegmentLane::Step(std::uint64_t limit) {
  if (begun_ >= limit) return false;
  if (begun_ == known_) {
    known_ = published_.load(std::memory_order_acquire);
    if (begun_ == known_) return false;
  }
  const std::uint64_t before = findings_.records;
  Do(tasks_[begun_ % kTasks]);
  const std::uint64_t mean = records_.load(std::memory_order_relaxed);
  records_.store(mean - mean / kMeanOf + findings_.records - before,
                 std::memory_order_relaxed);
  done_.store(++begun_, std::memory_order_release);
  done_.notify_one();
  return true;
}

void SegmentLane::Deliver(const Task& task, const Stretch& stretch) {
  Runs runs(*this, *task.thread, stretch.now);
  if (!task.source->DeliverRuns(stretch.limit_ns, runs)) runs.Fail();
}

void SegmentLane::Do(const Task& task) {
  ThreadState& thread = *task.thread;
  if (task.wait_ns != 0 && thread.lane_place != nullptr) {
    thread.lane_place->wait_ns += task.wait_ns;
  }
  if (task.adopt) segments_.Adopt(thread, *task.stretch.now.process);
  if (task.source != nullptr) {
    // Clocks of two CPUs may disagree: seldom is there anything.
    if (task.source->next_ns() < task.off_cpu.limit_ns) [[unlikely]] {
      Deliver(task, task.off_cpu);
    }
    Deliver(task, task.stretch);
    findings_.end_ns = std::max(findings_.end_ns, thread.lane_hook_ns);
  }
  if (task.end) {
    segments_.CloseAll(thread, task.stretch.now, task.stretch.limit_ns,
                       /*ended=*/true);
  }
  if (task.note_place) thread.lane_place = thread.stack.Top();
  if (task.note != nullptr) {
    task.note->place = thread.lane_place;
    task.note->hook_id = thread.stack.TopHook();
    task.note->told.store(true, std::memory_order_release);
  }
}

}  // namespace countrace::rmap
