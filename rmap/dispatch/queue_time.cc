#include "rmap/dispatch/queue_time.h"

#include <algorithm>
#include <utility>

namespace countrace::rmap {
namespace {

PreemptorKind KindOf(Account account) {
  switch (account) {
    case Account::kProcesses:
      return PreemptorKind::kThread;
    case Account::kIdle:
      return PreemptorKind::kIdle;
    case Account::kInterrupts:
      return PreemptorKind::kInterrupts;
    case Account::kOutside:
      return PreemptorKind::kOutside;
    case Account::kUnattributed:
      break;
  }
  return PreemptorKind::kNotKnown;
}

}  // namespace

QueueTime::Queue& QueueTime::QueueOf(std::size_t cpu) {
  if (cpu >= queues_.size()) queues_.resize(cpu + 1);
  return queues_[cpu];
}

void QueueTime::OnTime(const CpuState& cpu,
                       const AttributedInterval& interval) {
  Queue& queue = QueueOf(cpu.cpu);
  const PreemptorKind kind = KindOf(cpu.AccountOf(interval.account));
  const ThreadState* const thread =
      kind == PreemptorKind::kThread ? interval.thread : nullptr;
  const bool sure = !cpu.outside_unknown;
  // What is not known is what no span covers.
  if (interval.ns != 0 && kind != PreemptorKind::kNotKnown) {
    std::deque<Span>& spans = queue.spans;
    if (!spans.empty() && spans.back().end_ns == interval.begin_ns &&
        spans.back().kind == kind && spans.back().thread == thread &&
        spans.back().sure == sure) {
      spans.back().end_ns = interval.end_ns;
    } else {
      spans.push_back({interval.begin_ns, interval.end_ns, kind, thread, sure});
      if (spans.size() > max_spans_) spans.pop_front();
    }
  }
  if (queue.pending.empty() || cpu.open_interrupts != 0 ||
      cpu.unconfirmed.any) {
    return;
  }
  std::erase_if(queue.pending, [&](const Wait& wait) {
    if (wait.end_ns > interval.end_ns) return false;
    Split(wait, queue);
    return true;
  });
}

void QueueTime::DoubtInterrupts(const CpuState& cpu, std::uint64_t since_ns) {
  std::deque<Span>& spans = QueueOf(cpu.cpu).spans;
  for (auto span = spans.rbegin();
       span != spans.rend() && span->begin_ns >= since_ns; ++span) {
    if (span->kind == PreemptorKind::kInterrupts) span->sure = false;
  }
}

void QueueTime::TakeBack(const CpuState& cpu, std::uint64_t since_ns) {
  std::deque<Span>& spans = QueueOf(cpu.cpu).spans;
  for (auto span = spans.rbegin();
       span != spans.rend() && span->end_ns > since_ns; ++span) {
    if (span->kind == PreemptorKind::kInterrupts) continue;
    span->end_ns = std::max(span->begin_ns, since_ns);
  }
}

void QueueTime::OnWait(const ThreadState& thread, std::int32_t cpu,
                       std::uint64_t end_ns) {
  // As for blocked time: records lost meanwhile may show that it ran.
  const Wait wait{&thread, thread.dispatch.runnable_since_ns, end_ns,
                  thread.unseen.latest_ns == 0};
  if (thread.dispatch.throttled) {  // whatever had the CPU, it was not why
    Add(wait, PreemptorKind::kThrottled, nullptr, end_ns - wait.begin_ns, true);
    return;
  }
  const std::int32_t left = thread.dispatch.queued_cpu;
  if (left < 0 && cpu < 0) {
    Add(wait, PreemptorKind::kNotKnown, nullptr, end_ns - wait.begin_ns, false);
    return;
  }
  QueueOf(static_cast<std::size_t>(left < 0 ? cpu : left))
      .pending.push_back(wait);
}

void QueueTime::Split(const Wait& wait, const Queue& queue) {
  std::uint64_t not_known_ns = wait.end_ns - wait.begin_ns;
  for (auto span = queue.spans.rbegin();
       span != queue.spans.rend() && span->end_ns > wait.begin_ns; ++span) {
    const std::uint64_t begin_ns = std::max(span->begin_ns, wait.begin_ns);
    const std::uint64_t end_ns = std::min(span->end_ns, wait.end_ns);
    if (begin_ns >= end_ns) continue;
    not_known_ns -= end_ns - begin_ns;
    Add(wait, span->kind, span->thread, end_ns - begin_ns, span->sure);
  }
  if (not_known_ns != 0) {
    Add(wait, PreemptorKind::kNotKnown, nullptr, not_known_ns, false);
  }
}

void QueueTime::Add(const Wait& wait, PreemptorKind kind, const ThreadState* by,
                    std::uint64_t ns, bool sure) {
  Key key{wait.thread, kind, by};
  if (sums_.size() >= max_rows_ && !sums_.contains(key)) {
    key = {wait.thread, PreemptorKind::kOther, nullptr};
  }
  Sum& sum = sums_[key];
  ++sum.times;
  sum.ns += ns;
  sum.longest_ns = std::max(sum.longest_ns, ns);
  if (wait.sure && sure) {
    sum.longest_sure_ns = std::max(sum.longest_sure_ns, ns);
  } else {
    ++sum.unsure_times;
    sum.unsure_ns += ns;
  }
}

void QueueTime::Finish() {
  for (Queue& queue : queues_) {
    for (const Wait& wait : std::exchange(queue.pending, {})) {
      Split(wait, queue);
    }
  }
}

}  // namespace countrace::rmap
