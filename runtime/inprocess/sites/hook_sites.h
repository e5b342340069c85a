// The hook sites of the process: their ids, and their gates.
#ifndef COUNTRACE_RUNTIME_INPROCESS_SITES_HOOK_SITES_H_
#define COUNTRACE_RUNTIME_INPROCESS_SITES_HOOK_SITES_H_

#include <cstddef>

#include "runtime/control_layout.h"
#include "runtime/inprocess/process/hook_objects.h"

namespace countrace::runtime {

// Adds the sites `start`..`stop` of one object. In a recording, it registers
// them and opens the gates of the selected ones (hook_selection.h). Sites with
// an unknown layout stay off, with a message on stderr, and count as one record
// each; those with a refused id or an invalid name are counted
// (refused_hooks.h). Not async-signal-safe.
void RegisterSites(SiteList start, SiteList stop) noexcept;

// The same for the runtime library's own sites, which are always on and not
// listed. Async-signal-safe.
void RegisterOwnSites(SiteList start, SiteList stop) noexcept;

// Registers all sites with the recording that the process has joined, and opens
// the gates of the selected ones. Requires: sites_lock held.
void OpenSelectedGates() noexcept;

// Gives each registered site the sink that SinkFor() chooses now.
void ChooseSinksAgain() noexcept;

// Switches all sites whose provider:name matches `glob`; in effect at once.
ControlStatus SwitchSites(const char* glob, bool on) noexcept;

// Writes lines of sites (ControlPage) into `text`, from number `from` on, as
// many as fit. Returns: bytes written; *next: number of the first that did not
// fit, 0 = all fit.
std::size_t ListSites(std::uint32_t from, char* text, std::size_t capacity,
                      std::uint32_t* next) noexcept;

// Removes the sites of an object that is unloaded.
void ForgetSites(SiteList start, SiteList stop) noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_SITES_HOOK_SITES_H_
