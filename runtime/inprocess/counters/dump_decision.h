// HOT for hooks whose dump rule has conditions; the others never come here,
// because their sink is chosen when they are registered (emit.h).
//
// The state belongs to one thread: no lock, no shared cache line. It lies in
// memory that a fork wipes, so a child counts from 0 like any new thread.
#ifndef COUNTRACE_RUNTIME_INPROCESS_COUNTERS_DUMP_DECISION_H_
#define COUNTRACE_RUNTIME_INPROCESS_COUNTERS_DUMP_DECISION_H_

#include <cstdint>

#include "countrace/hook_site.h"
#include "logformat/rules/dump_rule.h"

namespace countrace::runtime {

// Whether a hook's records carry counter dumps: never, always, or as the hook's
// dump rule decides for each record (kByRule).
enum class DumpChoice { kNever, kAlways, kByRule };

// The arguments of one firing of a hook. `site` and `values` are null without
// payload.
struct HookEvent {
  std::uint32_t event_id;
  const countrace_hook_site* site;
  const countrace_value* values;
  std::uint32_t count;
  std::uintptr_t caller;
};

struct DumpDecision {
  bool dump;
  countrace_rule_state* timed;  // not null: NoteDump() stores the time there
};

// Whether this record carries a dump. Async-signal-safe, preserves errno; one
// system call at a thread's first call. Without memory for the thread's state,
// every record carries a dump: more data, never less.
DumpDecision DecideDump(const HookEvent& event) noexcept;

// Called after the record is written. The rule's interval counts from this
// time, so dumps in the log are never closer than the rule says.
void NoteDump(const DumpDecision& decision) noexcept;

// Finds and stores the rule for the hook of `site`. Called when a hook is
// registered, under the lock of hook_sites.cc, before its gate opens.
DumpChoice ChooseDumps(const countrace_hook_site& site,
                       std::uint32_t hook_id) noexcept;

// Frees the state of the calling thread, which ends. Requires: signals blocked.
void ForgetDumpState() noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_COUNTERS_DUMP_DECISION_H_
