// Which hooks of this process record: the session's filter (`record --hooks`)
// and the switches of `countrace hooks enable|disable` during the recording.
//
// The last switch whose glob matches decides. A `disable` holds until an
// `enable`, also in later recordings. An `enable` widens the filter of the
// recording in which it was given; otherwise it only cancels a `disable`.
// Guarded by ProcessState::sites_lock.
#ifndef COUNTRACE_RUNTIME_INPROCESS_SITES_HOOK_SELECTION_H_
#define COUNTRACE_RUNTIME_INPROCESS_SITES_HOOK_SELECTION_H_

#include "countrace/hook_site.h"

namespace countrace::runtime {

bool HookMatches(const char* glob, const countrace_hook_site& site) noexcept;

bool HookIsSelected(const countrace_hook_site& site) noexcept;

// False: no room for one more glob.
bool AddHookSwitch(const char* glob, bool on) noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_SITES_HOOK_SELECTION_H_
