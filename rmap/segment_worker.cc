#include "rmap/segment_worker.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

namespace countrace::rmap {

namespace {

// A task takes some microseconds; whoever waits longer sleeps.
constexpr int kSpins = 2000;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Returns: `count`, once it is not `seen` any more.
std::uint64_t WaitUntilNot(const std::atomic<std::uint64_t>& count,
                           std::uint64_t seen) {
  for (int i = 0; i < kSpins; ++i) {
    const std::uint64_t now = count.load(std::memory_order_acquire);
    if (now != seen) return now;
    Pause();
  }
  count.wait(seen, std::memory_order_acquire);
  return count.load(std::memory_order_acquire);
}

// Its calls cannot be found again in other paths. Requires: its stack is the
// caller's, or settled.
bool IsFolded(const ThreadState& thread) {
  return !thread.stack.frames.empty() &&
         thread.stack.Top()->hook_id == PathNode::kFolded;
}

}  // namespace

// Records of one thread, to the worker's segments.
class SegmentWorker::Runs final : public logformat::ItemSink {
 public:
  Runs(SegmentWorker& worker, const Task& task) : worker_(worker), task_(task) {
    hits_ = &worker_.findings_.hits[task.now.process];
  }

  void OnThreadRecords(
      const logformat::EventRecord& /*head*/,
      std::span<const logformat::ThreadRecord> records) override {
    ThreadState& thread = *task_.thread;
    // Two streams of one thread: who comes first is for the caller to say.
    if (records.front().time_ns < thread.worker_hook_ns) [[unlikely]] {
      Fail();
      return;
    }
    hits_->Add(records);
    worker_.segments_.Run(thread, task_.now, records, worker_.kinds_);
    worker_.findings_.records += records.size();
    thread.worker_hook_ns = records.back().time_ns;
  }
  // A RunSource delivers none of these.
  void OnRecord(const logformat::EventRecord&) override { Fail(); }
  void OnDiscardedEvents(const logformat::DiscardedEvents&) override { Fail(); }
  void OnDiscardedPackets(const logformat::DiscardedPackets&) override {
    Fail();
  }

  void Fail() { worker_.failed_.store(true, std::memory_order_relaxed); }

 private:
  SegmentWorker& worker_;
  const Task& task_;
  HookHits* hits_;
};

SegmentWorker::SegmentWorker(SegmentBuilder& segments,
                             const std::vector<logformat::HookKind>& kinds,
                             bool late)
    : segments_(segments),
      kinds_(kinds),
      late_(late),
      worker_([this] { Work(); }) {}

SegmentWorker::Whose SegmentWorker::Choose(ThreadState& thread) {
  const std::uint64_t done = done_.load(std::memory_order_acquire);
  const std::uint64_t waiting = filled_ - done;
  // Off its CPU, others know where in its paths it is.
  if (!thread.with_worker) {
    // The worker has enough; or the caller would have nothing itself.
    if (waiting >= kFewTasks || callers_last_ == nullptr ||
        callers_last_ == &thread || thread.left_cpu || IsFolded(thread)) {
      return Whose::kCallers;
    }
    // The last times this was too much for the worker.
    if (++thread.worker_idle_seen < thread.worker_patience) {
      return Whose::kCallers;
    }
    thread.worker_idle_seen = 0;
    thread.with_worker = adopt_ = true;
    thread.worker_hook_ns = thread.last_hook_ns;
    return Whose::kWorkers;
  }
  // All that there is is the worker's: then it need not be.
  const bool alone = waiting == 0 && given_in_a_row_ >= kAloneAfter;
  if ((waiting < kManyTasks && !alone) || thread.left_cpu) {
    return Whose::kWorkers;
  }
  if (thread.last_task > done) {
    // If the caller has nothing else to do, or soon will have to wait anyway,
    // it may wait for this thread's tasks if others come after them.
    if ((given_in_a_row_ < kIdleAfter && waiting < kTooManyTasks) ||
        filled_ == thread.last_task) {
      return Whose::kWorkers;
    }
    WaitFor(thread.last_task);
    thread.worker_patience =
        std::min(2 * thread.worker_patience, kMostPatience);
  } else {
    thread.worker_patience = std::max(1u, thread.worker_patience / 2);
  }
  if (IsFolded(thread)) return Whose::kWorkers;
  if (thread.worker_wait_ns != 0) Tell(thread, /*note_place=*/false);
  thread.with_worker = false;
  thread.last_hook_ns = thread.worker_hook_ns;
  thread.last_seen_ns = std::max(thread.last_seen_ns, thread.last_hook_ns);
  return Whose::kCallersNow;
}

void SegmentWorker::Run(ThreadState& thread, const ThreadNow& now,
                        logformat::RunSource& source, std::uint64_t limit_ns) {
  Task& task = Next();
  task.adopt = std::exchange(adopt_, false);
  // It may leave its CPU next.
  task.note_place = thread.place_told = now.on_cpu;
  task.thread = &thread;
  task.source = &source;
  task.limit_ns = limit_ns;
  task.wait_ns = std::exchange(thread.worker_wait_ns, 0);
  task.now = now;
  Publish();
  ++runs_;
  ++given_in_a_row_;
  thread.last_task = filled_;
}

void SegmentWorker::Tell(ThreadState& thread, bool note_place) {
  Task& task = Next();
  task.adopt = false;
  task.note_place = note_place;
  task.thread = &thread;
  task.source = nullptr;
  task.wait_ns = std::exchange(thread.worker_wait_ns, 0);
  Publish();
}

void SegmentWorker::NotePlace(ThreadState& thread) {
  if (thread.place_told) return;
  Tell(thread, /*note_place=*/true);
  thread.place_told = true;
  thread.last_task = filled_;
}

SegmentWorker::Task& SegmentWorker::Next() {
  // Who waits for one place waits again for the next: each time two threads
  // have to be woken.
  if (filled_ - done_.load(std::memory_order_acquire) == kTasks) {
    WaitFor(filled_ - kTasks / 2);
  }
  return tasks_[filled_ % kTasks];
}

void SegmentWorker::Publish() {
  published_.store(++filled_, std::memory_order_release);
  published_.notify_one();
}

void SegmentWorker::WaitFor(std::uint64_t task) {
  if (late_) asked_.store(task, std::memory_order_release);
  std::uint64_t done = done_.load(std::memory_order_acquire);
  while (done < task) done = WaitUntilNot(done_, done);
}

void SegmentWorker::Stop() {
  if (!worker_.joinable()) return;
  Next().stop = true;
  Publish();
  if (late_) asked_.store(filled_, std::memory_order_release);
  worker_.join();
}

void SegmentWorker::Work() {
  for (std::uint64_t done = 0;;) {
    const std::uint64_t published = WaitUntilNot(published_, done);
    while (done != published) {
      while (late_ && asked_.load(std::memory_order_acquire) <= done) {
        std::this_thread::yield();
      }
      const Task& task = tasks_[done % kTasks];
      const bool stop = task.stop;
      if (!stop) Do(task);
      done_.store(++done, std::memory_order_release);
      done_.notify_one();
      if (stop) return;
    }
  }
}

void SegmentWorker::Do(const Task& task) {
  ThreadState& thread = *task.thread;
  if (task.wait_ns != 0 && thread.worker_place != nullptr) {
    thread.worker_place->wait_ns += task.wait_ns;
  }
  if (task.adopt) segments_.Adopt(thread, *task.now.process);
  if (task.source != nullptr) {
    Runs runs(*this, task);
    if (!task.source->DeliverRuns(task.limit_ns, runs)) runs.Fail();
    findings_.end_ns = std::max(findings_.end_ns, thread.worker_hook_ns);
  }
  if (task.note_place) thread.worker_place = thread.stack.Top();
}

}  // namespace countrace::rmap
