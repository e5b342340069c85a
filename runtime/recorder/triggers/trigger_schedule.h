// Decides when a fired trigger leads to a snapshot, to the end, or to the begin
// of what is counted: `after`, `at most every`, `at most N times`, `then stop`,
// `then start` of each trigger. Counts suppressed ones.
//
// Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_TRIGGERS_TRIGGER_SCHEDULE_H_
#define COUNTRACE_RUNTIME_RECORDER_TRIGGERS_TRIGGER_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "logformat/trace_info.h"
#include "runtime/rules/trigger_text.h"

namespace countrace::runtime {

// The actions that are due now.
struct DueTriggers {
  std::vector<logformat::TriggerFiring> reasons;  // empty: nothing
  bool stop = false;
  std::vector<logformat::TriggerFiring> starts;  // `then start`: at most one
};

class TriggerSchedule {
 public:
  // `triggers` must outlive the object.
  explicit TriggerSchedule(const std::vector<Trigger>& triggers)
      : triggers_(triggers), counts_(triggers.size()) {}

  // True: the caller must call Add(); false: the trigger is suppressed.
  bool Accept(std::size_t trigger, std::uint64_t time_ns);
  void Add(std::size_t trigger, std::uint64_t time_ns, std::string what);

  // The actions that are due by `now_ns`, with one snapshot for all. A waiting
  // stop includes everything else that waits.
  DueTriggers TakeDue(std::uint64_t now_ns);
  // Everything that still waits.
  DueTriggers TakeAll() { return TakeDue(~std::uint64_t{0}); }

  std::uint64_t fired(std::size_t trigger) const {
    return counts_[trigger].fired;
  }
  std::uint64_t suppressed(std::size_t trigger) const {
    return counts_[trigger].fired - counts_[trigger].accepted;
  }

 private:
  struct Counts {
    std::uint64_t fired = 0, accepted = 0;
    std::optional<std::uint64_t> last_ns;  // accepted
  };
  struct Waiting {
    std::uint64_t due_ns;
    bool stop, start;
    logformat::TriggerFiring reason;
  };
  const std::vector<Trigger>& triggers_;
  std::vector<Counts> counts_;
  std::vector<Waiting> waiting_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_TRIGGERS_TRIGGER_SCHEDULE_H_
