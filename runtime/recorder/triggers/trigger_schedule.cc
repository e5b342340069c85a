#include "runtime/recorder/triggers/trigger_schedule.h"

#include <algorithm>
#include <utility>

#include "logformat/description/recorded_part.h"

namespace countrace::runtime {

bool TriggerSchedule::Accept(std::size_t trigger, std::uint64_t time_ns) {
  const Trigger& rule = triggers_[trigger];
  Counts& counts = counts_[trigger];
  ++counts.fired;
  if (rule.pause || rule.resume) {
    // Threads are read one after the other: times may go back.
    if (rule.pause == paused_ || time_ns < edge_ns_) return false;
    if (rule.pause && pauses_ == logformat::kMostPauses) {
      ++pauses_refused_;
      return false;
    }
    paused_ = rule.pause;
    pauses_ += rule.pause ? 1 : 0;
    edge_ns_ = time_ns;
    ++counts.accepted;
    return true;
  }
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
  const std::uint64_t due_ns = rule.bounds_part() ? time_ns
                               : time_ns > kLatest - rule.after_ns
                                   ? kLatest
                                   : time_ns + rule.after_ns;
  waiting_.push_back({due_ns,
                      rule.stop,
                      rule.bounds_part(),
                      {time_ns, rule.text, std::move(what)}});
}

std::vector<logformat::TriggerFiring> TriggerSchedule::TakeBounds() {
  std::vector<logformat::TriggerFiring> bounds;
  for (Waiting& waiting : waiting_) {
    if (waiting.bounds) bounds.push_back(std::move(waiting.reason));
  }
  std::erase_if(waiting_,
                [](const Waiting& waiting) { return waiting.bounds; });
  return bounds;
}

DueTriggers TriggerSchedule::TakeDue(std::uint64_t now_ns) {
  const bool stop = std::any_of(
      waiting_.begin(), waiting_.end(), [now_ns](const Waiting& waiting) {
        return waiting.stop && waiting.due_ns <= now_ns;
      });
  DueTriggers due{.reasons = {}, .stop = stop, .bounds = {}};
  std::vector<Waiting> later;
  for (Waiting& waiting : waiting_) {
    if (stop || waiting.due_ns <= now_ns) {
      (waiting.bounds ? due.bounds : due.reasons)
          .push_back(std::move(waiting.reason));
    } else {
      later.push_back(std::move(waiting));
    }
  }
  waiting_ = std::move(later);
  return due;
}

}  // namespace countrace::runtime
