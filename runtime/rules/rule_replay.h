// Counts the dumps that rules would give: replays a log against them.
//
// In: a trace, recorded with or without rules (its dumps are ignored). Out:
// dumps for each rule. The conditions are evaluated in the same order as at the
// hooks, with the record's own time. Thread: one.
//
// Exact for counts and payloads. Time rules are exact for the times in this
// log; another run has others. The log holds no callers, so a rule with `from`
// gives bounds. A thread id that is reused without a kernel record between
// continues the counts of the earlier thread. At kernel-side hooks the log
// holds `ret` and `number`, so they are exact, but no arguments: a rule on
// arguments gives bounds, too.
#ifndef COUNTRACE_RUNTIME_RULES_RULE_REPLAY_H_
#define COUNTRACE_RUNTIME_RULES_RULE_REPLAY_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/read/trace_reader.h"
#include "runtime/rules/dump_rule_text.h"

namespace countrace::runtime {

enum class ReplayQuality {
  kExact,     // another run of the same workload gives the same number
  kInferred,  // from the times of this recording
  kBounded,   // between 0 and `dumps`: the log lacks data for a condition
};
const char* ReplayQualityName(ReplayQuality quality);  // "exact", ...

struct ReplayedRule {
  std::uint64_t hooks = 0;    // hooks of the trace that this rule applies to
  std::uint64_t records = 0;  // enters, exits and points of these hooks
  std::uint64_t dumps = 0;    // of these records; the most if kBounded
  // The part of both at kernel-side hooks.
  std::uint64_t kernel_records = 0, kernel_dumps = 0;
  ReplayQuality quality = ReplayQuality::kExact;
  // The rule has a condition on arguments or callers at a kernel-side hook; the
  // log holds neither: bounded.
  bool unknown_at_kernel_hooks = false;
};

struct ReplayResult {
  std::vector<ReplayedRule> rules;  // one for each rule
  ReplayedRule unmatched;           // hooks that no rule matches
  std::uint64_t lost = 0;  // records lost from the log: their dumps are missing
};

// `tick_ns`: of the machine to be recorded. Returns: CANCELLED if `progress`
// returned stop.
absl::StatusOr<ReplayResult> ReplayDumpRules(
    logformat::TraceReader& trace, const std::vector<DumpRule>& rules,
    std::uint64_t tick_ns,
    const logformat::ProgressCallback& progress = nullptr);

// Bytes that one dump of `counters` counters adds to a record of a user hook.
std::uint64_t DumpBytes(std::size_t counters);
// The same for a record of a kernel-side hook.
std::uint64_t KernelDumpBytes(std::size_t counters);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RULES_RULE_REPLAY_H_
