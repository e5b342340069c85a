// Which hooks of this process record: the session's filter (`record --hooks`)
// and, over it, what `countrace hooks enable|disable` said while it ran.
//
// The last switch whose glob matches decides. A `disable` holds until an
// `enable`, for later recordings, too; an `enable` widens the filter of the
// recording it was given in and otherwise only undoes a `disable`.
// Guarded by ProcessState::sites_lock.
#ifndef COUNTRACE_RUNTIME_INPROCESS_HOOK_SELECTION_H_
#define COUNTRACE_RUNTIME_INPROCESS_HOOK_SELECTION_H_

#include "countrace/hook_site.h"

namespace countrace::runtime {

bool HookMatches(const char* glob, const countrace_hook_site& site) noexcept;

bool HookIsSelected(const countrace_hook_site& site) noexcept;

// False: no room for one more glob.
bool AddHookSwitch(const char* glob, bool on) noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_HOOK_SELECTION_H_
