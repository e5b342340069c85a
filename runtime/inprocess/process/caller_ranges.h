// The address ranges of the callers that dump rules name. A rule gives an
// object's file name and offsets in it; the loader's list gives the object's
// address.
#ifndef COUNTRACE_RUNTIME_INPROCESS_PROCESS_CALLER_RANGES_H_
#define COUNTRACE_RUNTIME_INPROCESS_PROCESS_CALLER_RANGES_H_

#include <cstdint>

namespace countrace::runtime {

// Looks up the objects that the session's rules name. Called when hooks are
// registered, so also after a library was loaded. Not async-signal-safe.
// Callers are serialised by the lock of hook_sites.cc.
void FindCallerRanges() noexcept;

// HOT. Whether `caller` lies in the range of rule `index`; false while the
// process has no such object. Async-signal-safe.
bool IsInCallerRange(std::uint32_t index, std::uintptr_t caller) noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_PROCESS_CALLER_RANGES_H_
