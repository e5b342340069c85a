// The hook sites of the process: which objects announced which, their ids, and
// their gates.
#ifndef COUNTRACE_RUNTIME_INPROCESS_HOOK_SITES_H_
#define COUNTRACE_RUNTIME_INPROCESS_HOOK_SITES_H_

#include "countrace/hook_site.h"

namespace countrace::runtime {

using SiteList = countrace_hook_site* const*;

// Registers the sites `start`..`stop` of one object, opens the gates of those
// the session's hook filter selects. Sites with an unknown layout, a refused
// id or an invalid name stay off, with a message on stderr. Not
// async-signal-safe.
void RegisterSites(SiteList start, SiteList stop) noexcept;

// The object is unloaded.
void ForgetSites(SiteList start, SiteList stop) noexcept;

// The recording has ended: every hook is off again. Async-signal-safe.
void CloseAllGates() noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_HOOK_SITES_H_
