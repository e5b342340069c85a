// The hook sites of the process: which objects announced which, their ids, and
// their gates.
#ifndef COUNTRACE_RUNTIME_INPROCESS_HOOK_SITES_H_
#define COUNTRACE_RUNTIME_INPROCESS_HOOK_SITES_H_

#include <cstddef>

#include "countrace/hook_site.h"
#include "runtime/control_layout.h"

namespace countrace::runtime {

using SiteList = countrace_hook_site* const*;

// Adds the sites `start`..`stop` of one object. In a recording: registers them
// and opens the gates of those that are selected (hook_selection.h). Sites with
// an unknown layout, a refused id or an invalid name stay off, with a message
// on stderr. Not async-signal-safe.
void RegisterSites(SiteList start, SiteList stop) noexcept;

// The process has joined a recording: registers all sites with it and opens
// the gates of those that are selected. Requires: sites_lock held.
void OpenSelectedGates() noexcept;

// Switches all sites whose provider:name matches `glob`, at once.
ControlStatus SwitchSites(const char* glob, bool on) noexcept;

// Writes lines of sites (ControlPage) into `text`, from number `from` on, as
// many as fit. Returns: bytes written; *next: number of the first that did not
// fit, 0 = none.
std::size_t ListSites(std::uint32_t from, char* text, std::size_t capacity,
                      std::uint32_t* next) noexcept;

// The object is unloaded.
void ForgetSites(SiteList start, SiteList stop) noexcept;

// The recording has ended: every hook is off again. Async-signal-safe.
void CloseAllGates() noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_HOOK_SITES_H_
