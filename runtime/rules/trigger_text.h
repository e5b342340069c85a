// The text of a recording's triggers, and their parsed form.
//
//   trigger   = condition { clause }
//   condition = "segment" GLOB ">" DURATION [ values ]
//             | "hook" GLOB [ values ]
//             | "signal" NAME
//             | "every" DURATION
//   clause    = "after" DURATION
//             | "at most every" DURATION
//             | "at most" N "times"
//             | "then stop" | "then start" | "then pause" | "then resume"
//   values    = "if" predicates      (predicate_text.h)
//
// GLOB matches provider:name, as in dump rules. A value of `values` is one of
// the record of a point, or of a segment's enter, by its name (arg0 to arg5
// without one). Clauses come in any order, each at most once; with "then start"
// and the two behind it, which only a hook may have, there is none else. Used
// by the recorder (runtime/recorder/triggers/). Thread: any.
#ifndef COUNTRACE_RUNTIME_RULES_TRIGGER_TEXT_H_
#define COUNTRACE_RUNTIME_RULES_TRIGGER_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/rules/dump_rule.h"

namespace countrace::runtime {

inline constexpr std::size_t kMaxTriggers = 16;
inline constexpr std::size_t kMaxTriggerBytes = 256;

enum class TriggerKind : std::uint8_t {
  kSegment,  // a call longer than `longer_than_ns`, ended or not
  kHook,     // a point hook, or the enter of a segment
  kSignal,   // sent to the recorder
  kTime,     // each `every_ns` of the recording
};

struct Trigger {
  TriggerKind kind = TriggerKind::kHook;
  std::string glob;                  // kSegment, kHook
  std::uint64_t longer_than_ns = 0;  // kSegment
  int signal = 0;                    // kSignal
  std::uint64_t every_ns = 0;        // kTime
  // Time from the trigger's condition to the snapshot.
  std::uint64_t after_ns = 10'000'000;
  // Shortest time between two snapshots.
  std::uint64_t min_interval_ns = 1'000'000'000;
  std::uint64_t limit = 0;  // most snapshots; 0: no limit
  bool stop = false;        // end the recording instead
  // Count from here on, or not; logformat/description/recorded_part.h.
  bool start = false, pause = false, resume = false;
  bool bounds_part() const { return start || pause || resume; }
  // All of them must hold.
  struct Comparison {
    std::string value;
    countrace_predicate predicate;  // of `value`, whatever its argument is
  };
  std::vector<Comparison> values;
  std::string text;  // canonical spelling
};

// Returns: INVALID_ARGUMENT as base::ErrorAt(), with the place "--trigger"; the
// message says which text is expected, with an example.
absl::StatusOr<Trigger> ParseTrigger(std::string_view text);

// Returns also: INVALID_ARGUMENT more than kMaxTriggers, or two that start.
absl::StatusOr<std::vector<Trigger>> ParseTriggers(
    const std::vector<std::string>& texts);

// Clauses in the order above, without defaults, durations in the largest unit
// that divides them. ParseTrigger() reads it back as the same trigger.
std::string PrintTrigger(const Trigger& trigger);

// "SIGUSR2", "SIGRTMIN+3"; "signal N" for a number that no trigger can have.
std::string TriggerSignalName(int number);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RULES_TRIGGER_TEXT_H_
