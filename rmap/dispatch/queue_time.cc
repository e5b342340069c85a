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
  if (interval.ns != 0 && kind == PreemptorKind::kNotKnown)
    Doubt(interval.begin_ns, interval.end_ns);
  // What is not known is what no span covers.
  if (interval.ns != 0 && kind != PreemptorKind::kNotKnown) {
    std::deque<Span>& spans = queue.spans;
    if (!spans.empty() && spans.back().end_ns == interval.begin_ns &&
        spans.back().kind == kind && spans.back().thread == thread &&
        spans.back().sure == sure) {
      spans.back().end_ns = interval.end_ns;
    } else {
      spans.push_back({interval.begin_ns, interval.end_ns, kind, thread, sure});
      if (spans.size() > kMaxSpans) spans.pop_front();
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
  Doubt(since_ns, cpu.last_ns);
}

void QueueTime::TakeBack(const CpuState& cpu, std::uint64_t since_ns) {
  std::deque<Span>& spans = QueueOf(cpu.cpu).spans;
  for (auto span = spans.rbegin();
       span != spans.rend() && span->end_ns > since_ns; ++span) {
    if (span->kind == PreemptorKind::kInterrupts) continue;
    span->end_ns = std::max(span->begin_ns, since_ns);
  }
  Doubt(since_ns, cpu.last_ns);
}

void QueueTime::OnWait(const ThreadState& thread, std::int32_t cpu,
                       std::uint64_t end_ns, bool any_cpu) {
  // As for blocked time: records lost meanwhile may show that it ran.
  const std::uint64_t begin_ns = thread.dispatch.runnable_since_ns;
  const bool is_long =
      end_ns - begin_ns > least_idle_ns_ && !thread.dispatch.throttled;
  const bool movable = is_long && thread.dispatch.any_cpu && any_cpu;
  // After a loss, what its begin or its end is not known to say.
  const bool perhaps = is_long && !movable && unknown_until_ns_ != 0 &&
                       (thread.dispatch.any_cpu || !thread.blocked.left_cpu);
  const Wait wait{&thread, begin_ns, end_ns,
                  thread.unseen.latest_ns == 0 && !perhaps, movable};
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
  const std::vector<Range> idle =
      wait.movable ? IdleDuring(wait) : std::vector<Range>();
  for (const auto& [from_ns, to_ns] : idle) {
    not_known_ns -= to_ns - from_ns;
    Add(wait, PreemptorKind::kIdleAllowed, nullptr, to_ns - from_ns, true);
  }
  for (auto span = queue.spans.rbegin();
       span != queue.spans.rend() && span->end_ns > wait.begin_ns; ++span) {
    std::uint64_t begin_ns = std::max(span->begin_ns, wait.begin_ns);
    const std::uint64_t end_ns = std::min(span->end_ns, wait.end_ns);
    const auto add_until = [&](std::uint64_t until_ns) {
      if (begin_ns >= until_ns) return;
      not_known_ns -= until_ns - begin_ns;
      Add(wait, span->kind, span->thread, until_ns - begin_ns, span->sure);
    };
    for (const auto& [from_ns, to_ns] : idle) {
      add_until(std::min(end_ns, from_ns));
      begin_ns = std::max(begin_ns, to_ns);
    }
    add_until(end_ns);
  }
  if (not_known_ns != 0) {
    Add(wait, PreemptorKind::kNotKnown, nullptr, not_known_ns, false);
  }
}

std::vector<QueueTime::Range> QueueTime::IdleDuring(const Wait& wait) const {
  std::vector<Range> found;
  for (const CpuState& cpu : cpus_) {
    std::uint64_t begin_ns = wait.end_ns, end_ns = wait.end_ns;
    if (cpu.occupant() == CpuState::Occupant::kIdle && cpu.open_interrupts == 0)
      begin_ns = std::min(cpu.last_ns, end_ns);
    const auto keep = [&] {
      const Range part(std::max(begin_ns, wait.begin_ns),
                       std::min(end_ns, wait.end_ns));
      if (part.first + least_idle_ns_ < part.second) found.push_back(part);
    };
    const std::deque<Span> none;
    const std::deque<Span>& spans =
        cpu.cpu < queues_.size() ? queues_[cpu.cpu].spans : none;
    for (auto span = spans.rbegin();
         span != spans.rend() && span->end_ns > wait.begin_ns; ++span) {
      if (span->kind != PreemptorKind::kIdle) continue;
      if (span->end_ns != begin_ns) {
        keep();
        end_ns = span->end_ns;
      }
      begin_ns = span->begin_ns;
    }
    keep();
  }
  std::sort(found.begin(), found.end());
  std::vector<Range> all;
  for (const Range& range : found) {
    if (all.empty() || all.back().second < range.first) all.push_back(range);
    all.back().second = std::max(all.back().second, range.second);
  }
  return all;
}

void QueueTime::Doubt(std::uint64_t begin_ns, std::uint64_t end_ns) {
  unknown_until_ns_ = std::max(unknown_until_ns_, end_ns);
  const auto doubt = [](Sum& sum, std::uint64_t ns) {
    ++sum.unsure_times;
    sum.unsure_ns = std::min(sum.unsure_ns + ns, sum.ns);
    sum.longest_sure_ns = 0;
  };
  if (begin_ns < forgot_until_ns_)
    for (auto& [key, sum] : sums_) doubt(sum, sum.ns);
  std::erase_if(doubtful_, [&](const Doubtful& part) {
    if (part.wait_end_ns <= begin_ns) return false;
    doubt(sums_[part.key], part.ns);
    return true;
  });
}

void QueueTime::Add(const Wait& wait, PreemptorKind kind, const ThreadState* by,
                    std::uint64_t ns, bool sure) {
  Key key{wait.thread, kind, by};
  if (sums_.size() >= kMaxRows && !sums_.contains(key)) {
    key = {wait.thread, PreemptorKind::kOther, nullptr};
  }
  Sum& sum = sums_[key];
  ++sum.times;
  sum.ns += ns;
  sum.longest_ns = std::max(sum.longest_ns, ns);
  sure = sure && wait.sure;
  if (sure && wait.movable) {
    sure = wait.begin_ns >= unknown_until_ns_;
    if (sure) doubtful_.push_back({wait.end_ns, key, ns});
    if (doubtful_.size() > kMaxSpans) {
      forgot_until_ns_ =
          std::max(forgot_until_ns_, doubtful_.front().wait_end_ns);
      doubtful_.pop_front();
    }
  }
  if (sure) {
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
