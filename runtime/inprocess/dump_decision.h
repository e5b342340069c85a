// HOT for hooks with a dump rule that has to be asked; the others never come
// here (emit.h: their sink is chosen when they are registered).
//
// State is each thread's own: no lock, no shared line. It lies in memory that a
// fork wipes, so a child counts from 0 like any new thread.
#ifndef COUNTRACE_RUNTIME_INPROCESS_DUMP_DECISION_H_
#define COUNTRACE_RUNTIME_INPROCESS_DUMP_DECISION_H_

#include <cstdint>

#include "countrace/hook_site.h"
#include "logformat/dump_rule.h"
#include "runtime/inprocess/emit.h"

namespace countrace::runtime {

// What a hook fires with. `site` and `values` are null without payload.
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

// Whether this record carries a dump. Async-signal-safe, keeps errno; one
// system call at a thread's first question. If there is no memory for the
// thread's state every record carries one: more data, never less.
DumpDecision DecideDump(const HookEvent& event) noexcept;

// After the record: the next one is due from its time on, so that dumps in the
// log are never closer than the rule says.
void NoteDump(const DumpDecision& decision) noexcept;

// Finds the rule of the hook of `site` and remembers it. Called when a hook is
// registered, under the lock of hook_sites.cc, before its gate opens.
DumpChoice ChooseDumps(const countrace_hook_site& site,
                       std::uint32_t hook_id) noexcept;

// The calling thread ends. Requires: signals blocked.
void ForgetDumpState() noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_DUMP_DECISION_H_
