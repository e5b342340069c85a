#include "rmap/segment_worker.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace countrace::rmap {

namespace {

// A task takes some microseconds; whoever waits longer sleeps.
constexpr int kSpins = 4000;

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

// Advice: nothing depends on its success.
void Advise(std::span<const std::byte> bytes, int advice) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  auto end = begin + bytes.size();
  // What lies partly in it: whoever reads ahead wants it, nobody gives it back.
  if (advice == MADV_DONTNEED) begin += page - 1;
  begin = begin / page * page;
  end = end / page * page;
  if (begin >= end) return;
  (void)madvise(reinterpret_cast<void*>(begin), end - begin, advice);
}

}  // namespace

SegmentWorker::SegmentWorker(SegmentBuilder& segments,
                             const std::vector<logformat::HookKind>& kinds)
    : segments_(segments), kinds_(kinds), worker_([this] { Work(); }) {}

SegmentWorker::Whose SegmentWorker::Choose(ThreadState& thread) {
  const std::uint64_t done = done_.load(std::memory_order_acquire);
  const std::uint64_t waiting = filled_ - done;
  // Off its CPU, others know where in its paths it is. What is folded is not
  // found again.
  const bool stays = thread.left_cpu || thread.last_task > done ||
                     (!thread.stack.frames.empty() &&
                      thread.stack.Top()->hook_id == PathNode::kFolded);
  if (thread.with_worker) {
    if (stays || waiting < kManyTasks) return Whose::kWorkers;
    thread.with_worker = false;
    return Whose::kCallersNow;
  }
  if (stays || waiting >= kFewTasks) return Whose::kCallers;
  thread.with_worker = adopt_ = true;
  return Whose::kWorkers;
}

void SegmentWorker::Run(ThreadState& thread, const ThreadNow& now,
                        std::span<const logformat::ThreadRecord> records) {
  while (!records.empty()) {
    Task& task = Next();
    task.kind = Task::Kind::kRun;
    task.thread = &thread;
    task.now = now;
    task.adopt = std::exchange(adopt_, false);
    task.size = std::min(records.size(), task.records.size());
    std::copy_n(records.begin(), task.size, task.records.begin());
    records = records.subspan(task.size);
    Publish();
  }
  thread.last_task = filled_;
}

void SegmentWorker::Tell(ThreadState& thread, Task::Kind kind,
                         std::uint64_t ns) {
  Task& task = Next();
  task.kind = kind;
  task.thread = &thread;
  task.ns = ns;
  Publish();
}

void SegmentWorker::NotePlace(ThreadState& thread) {
  Tell(thread, Task::Kind::kNotePlace, 0);
  thread.last_task = filled_;
}

void SegmentWorker::AddWait(ThreadState& thread, std::uint64_t ns) {
  // Not of the stack: the thread may be the caller's before it is done.
  Tell(thread, Task::Kind::kAddWait, ns);
}

SegmentWorker::Task& SegmentWorker::Next() {
  if (filled_ >= kTasks) WaitFor(filled_ - kTasks + 1);
  return tasks_[filled_ % kTasks];
}

void SegmentWorker::Publish() {
  published_.store(++filled_, std::memory_order_release);
  published_.notify_one();
}

void SegmentWorker::WaitFor(std::uint64_t task) {
  std::uint64_t done = done_.load(std::memory_order_acquire);
  while (done < task) done = WaitUntilNot(done_, done);
}

void SegmentWorker::Stop() {
  if (!worker_.joinable()) return;
  Next().kind = Task::Kind::kStop;
  Publish();
  worker_.join();
}

void SegmentWorker::WillRead(std::span<const std::byte> bytes) {
  const std::uint64_t asked = pages_asked_.load(std::memory_order_relaxed);
  if (asked - pages_mapped_.load(std::memory_order_acquire) == kPageRequests) {
    return;
  }
  pages_[asked % kPageRequests] = bytes;
  pages_asked_.store(asked + 1, std::memory_order_release);
  Next().kind = Task::Kind::kWillRead;  // if it has nothing else to do
  Publish();
}

void SegmentWorker::MapPages() {
  std::uint64_t mapped = pages_mapped_.load(std::memory_order_relaxed);
  while (mapped != pages_asked_.load(std::memory_order_acquire)) {
    Advise(pages_[mapped % kPageRequests], MADV_POPULATE_READ);
    pages_mapped_.store(++mapped, std::memory_order_release);
  }
}

void SegmentWorker::WasRead(std::span<const std::byte> bytes) {
  Task& task = Next();
  task.kind = Task::Kind::kWasRead;
  task.pages = bytes;
  Publish();
}

void SegmentWorker::Work() {
  for (std::uint64_t done = 0;;) {
    const std::uint64_t published = WaitUntilNot(published_, done);
    while (done != published) {
      const Task& task = tasks_[done % kTasks];
      const Task::Kind kind = task.kind;
      MapPages();
      Do(task);
      done_.store(++done, std::memory_order_release);
      done_.notify_one();
      if (kind == Task::Kind::kStop) return;
    }
  }
}

void SegmentWorker::Do(const Task& task) {
  switch (task.kind) {
    case Task::Kind::kStop:
      return;
    case Task::Kind::kRun:
      DoRun(task);
      return;
    case Task::Kind::kNotePlace:
      task.thread->worker_place = task.thread->stack.Top();
      return;
    case Task::Kind::kAddWait:
      if (task.thread->worker_place != nullptr) {
        task.thread->worker_place->wait_ns += task.ns;
      }
      return;
    case Task::Kind::kWillRead:
      return;
    case Task::Kind::kWasRead:
      Advise(task.pages, MADV_DONTNEED);
      return;
  }
}

void SegmentWorker::DoRun(const Task& task) {
  const std::span records(task.records.data(), task.size);
  if (task.adopt) segments_.Adopt(*task.thread, *task.now.process);
  hits_[task.now.process].Add(records);
  segments_.Run(*task.thread, task.now, records, kinds_);
}

}  // namespace countrace::rmap
