// Decides when a fired trigger leads to a snapshot, to the end, or bounds what
// is counted: `after`, `at most every`, `at most N times`, `then stop`, `then
// start`, `then pause`, `then resume` of each trigger. Counts suppressed ones:
// also a pause in a pause, and a resume outside of one.
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
  std::vector<logformat::TriggerFiring> bounds;  // of what is counted
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
  // Those that bound what is counted, without the others.
  std::vector<logformat::TriggerFiring> TakeBounds();
  // Everything that still waits.
  DueTriggers TakeAll() { return TakeDue(~std::uint64_t{0}); }

  // Whether an accepted firing is the trigger's first one.
  bool is_first(std::size_t trigger) const {
    return counts_[trigger].accepted == 1;
  }
  // Pauses that were not taken, because there were too many.
  std::uint64_t pauses_refused() const { return pauses_refused_; }
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
    bool stop, bounds;
    logformat::TriggerFiring reason;
  };
  const std::vector<Trigger>& triggers_;
  std::vector<Counts> counts_;
  std::vector<Waiting> waiting_;
  bool paused_ = false;
  std::uint64_t pauses_ = 0, pauses_refused_ = 0;
  std::uint64_t edge_ns_ = 0;  // of the latest pause
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_TRIGGERS_TRIGGER_SCHEDULE_H_
