#include "runtime/recorder/triggers/trigger_schedule.h"

#include <algorithm>
#include <utility>

namespace countrace::runtime {

bool TriggerSchedule::Accept(std::size_t trigger, std::uint64_t time_ns) {
  const Trigger& rule = triggers_[trigger];
  Counts& counts = counts_[trigger];
  ++counts.fired;
  const std::uint64_t limit = rule.stop || rule.start ? 1 : rule.limit;
  if (limit != 0 && counts.accepted >= limit) return false;
  // Threads are read one after the other: times may go back.
  if (counts.last_ns && (time_ns < *counts.last_ns ||
                         time_ns - *counts.last_ns < rule.min_interval_ns)) {
    return false;
  }
  ++counts.accepted;
  counts.last_ns = time_ns;
  return true;
}

void TriggerSchedule::Add(std::size_t trigger, std::uint64_t time_ns,
                          std::string what) {
  const Trigger& rule = triggers_[trigger];
  constexpr auto kLatest = ~std::uint64_t{0};
  const std::uint64_t due_ns = rule.start ? time_ns
                               : time_ns > kLatest - rule.after_ns
                                   ? kLatest
                                   : time_ns + rule.after_ns;
  waiting_.push_back(
      {due_ns, rule.stop, rule.start, {time_ns, rule.text, std::move(what)}});
}

DueTriggers TriggerSchedule::TakeDue(std::uint64_t now_ns) {
  const bool stop = std::any_of(
      waiting_.begin(), waiting_.end(), [now_ns](const Waiting& waiting) {
        return waiting.stop && waiting.due_ns <= now_ns;
      });
  DueTriggers due{.reasons = {}, .stop = stop, .starts = {}};
  std::vector<Waiting> later;
  for (Waiting& waiting : waiting_) {
    if (stop || waiting.due_ns <= now_ns) {
      (waiting.start ? due.starts : due.reasons)
          .push_back(std::move(waiting.reason));
    } else {
      later.push_back(std::move(waiting));
    }
  }
  waiting_ = std::move(later);
  return due;
}

}  // namespace countrace::runtime
