#include "rmap/held_runs.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "logformat/packet_layout.h"

namespace countrace::rmap {

using logformat::CpuEvent;
using logformat::EventRecord;

namespace {

template <typename Layout>
bool Decode(const EventRecord& record, Layout& out) {
  if (record.bytes.size() < sizeof(Layout)) return false;
  std::memcpy(&out, record.bytes.data(), sizeof(Layout));
  return true;
}

std::int32_t LowTid(std::uint64_t word) {
  return static_cast<std::int32_t>(word & 0xffffffu);
}
std::int32_t HighTid(std::uint64_t word) {
  return static_cast<std::int32_t>(word >> 24 & 0xffffffu);
}

}  // namespace

void HeldRuns::Hold(std::uint32_t stream, ThreadState& thread,
                    logformat::RunSource& source, std::uint64_t from_ns,
                    std::uint64_t until_ns, SegmentWorker& worker) {
  worker_ = &worker;
  if (stream >= streams_.size()) streams_.resize(stream + std::size_t{1});
  Held& held = streams_[stream];
  if (!held.active) {
    held.active = true;
    held.place = active_.size();
    active_.push_back(stream);
    held.from_ns = from_ns;
    held.off_cpu.limit_ns = 0;
  }
  held.thread = &thread;
  held.source = &source;
  held.until_ns = until_ns;
  thread.held_in = stream + 1;
  any_was_held_ = true;
}

// A record that concerns more than its threads, or may, concerns all.
void HeldRuns::DeliverBefore(const EventRecord& record) {
  switch (static_cast<CpuEvent>(record.event_id)) {
    case CpuEvent::kDispatch: {
      logformat::DispatchRecord dispatch;
      if (!Decode(record, dispatch) ||
          !dispatches_.Follows(record.cpu, LowTid(dispatch.tids_and_state))) {
        break;
      }
      Deliver(dispatches_.Running(record.cpu));
      DeliverOffCpu(registry_.Find(HighTid(dispatch.tids_and_state)));
      return;
    }
    case CpuEvent::kWakeup: {
      // In what segment the waker was.
      logformat::WakeupRecord wakeup;
      if (!Decode(record, wakeup)) break;
      Deliver(dispatches_.Running(record.cpu));
      Deliver(registry_.Find(LowTid(wakeup.tids_and_cpu)));
      return;
    }
    case CpuEvent::kFault: {
      logformat::FaultRecord fault;
      if (!Decode(record, fault)) break;
      Deliver(dispatches_.Running(record.cpu));
      Deliver(registry_.Find(fault.tid));
      return;
    }
    default:
      break;
  }
  DeliverAll();
}

void HeldRuns::DeliverAll() {
  for (const std::uint32_t stream : active_) {
    Deliver(streams_[stream], at_.LimitOf(stream));
  }
}

void HeldRuns::Deliver(ThreadState* thread) {
  if (thread == nullptr || thread->held_in == 0) return;
  const std::uint32_t stream = thread->held_in - 1;
  Deliver(streams_[stream], at_.LimitOf(stream));
}

// Most often it did nothing since it left its last CPU. While its tasks from
// there are not done nobody knows, and it comes with the next one.
void HeldRuns::DeliverOffCpu(ThreadState* thread) {
  if (thread == nullptr || thread->held_in == 0) return;
  const std::uint32_t stream = thread->held_in - 1;
  Held& held = streams_[stream];
  const std::uint64_t limit_ns = std::min(at_.LimitOf(stream), held.until_ns);
  if (thread->left_cpu && held.off_cpu.limit_ns == 0 &&
      limit_ns > held.from_ns && !SegmentWorker::IsSettled(*thread)) {
    held.off_cpu = {limit_ns, NowOf(*thread, dispatches_.coverage())};
    return;
  }
  Deliver(held, limit_ns);
}

void HeldRuns::Deliver(Held& held, std::uint64_t limit_ns) {
  limit_ns = std::min(limit_ns, held.until_ns);
  if (limit_ns <= held.from_ns) return;
  held.from_ns = limit_ns;
  ThreadState& thread = *held.thread;
  logformat::RunSource& source = *held.source;
  const SegmentLane::Stretch off_cpu = std::exchange(held.off_cpu, {});
  if (SegmentWorker::IsSettled(thread)) {
    // Nothing to do: most often it was on no CPU.
    if (source.next_ns() >= limit_ns) return;
  } else if (thread.exited || thread.retired) {
    worker_->Settle(thread);
    if (source.next_ns() >= limit_ns) return;
  }
  // Whose records they are now would have been asked at their time.
  if (thread.exited || thread.retired) [[unlikely]] {
    failed_ = true;
    return;
  }
  if (!thread.process->counted) [[unlikely]] {  // they are skipped
    worker_->Settle(thread);
    if (!source.DeliverRuns(limit_ns, own_)) failed_ = true;
    return;
  }
  if (worker_->Takes(thread)) {
    worker_->Run(thread, source, off_cpu,
                 {limit_ns, NowOf(thread, dispatches_.coverage())});
  } else if (!source.DeliverRuns(limit_ns, own_)) {
    failed_ = true;
  }
}

void HeldRuns::Drop(std::uint32_t stream) {
  Held& held = streams_[stream];
  if (!held.active) return;
  held.active = false;
  held.thread->held_in = 0;
  const std::uint32_t last = active_.back();
  active_[held.place] = last;
  streams_[last].place = held.place;
  active_.pop_back();
}

bool HeldRuns::IsDone(std::uint32_t stream) {
  Held& held = streams_[stream];
  // Most often it did nothing since it left its CPU, and what it did can wait
  // until it has one again.
  if (held.thread->left_cpu && !SegmentWorker::IsSettled(*held.thread)) {
    return false;
  }
  Deliver(held, held.until_ns);
  if (!SegmentWorker::IsSettled(*held.thread)) return false;
  Drop(stream);
  return true;
}

void HeldRuns::WaitFor(std::uint32_t stream) {
  Held& held = streams_[stream];
  Deliver(held, held.until_ns);
  worker_->Settle(*held.thread);
  Drop(stream);
}

void HeldRuns::ReturnAll() {
  DeliverAll();
  while (!active_.empty()) {
    const std::uint32_t stream = active_.back();
    worker_->Settle(*streams_[stream].thread);
    Drop(stream);
  }
  any_was_held_ = false;
}

}  // namespace countrace::rmap
