// Where in this process the code ranges of dump rules lie: rules name an object
// by its file name, and offsets in it; the loader says where it is.
#ifndef COUNTRACE_RUNTIME_INPROCESS_CALLER_RANGES_H_
#define COUNTRACE_RUNTIME_INPROCESS_CALLER_RANGES_H_

#include <cstdint>

namespace countrace::runtime {

// Looks up the objects that the session's rules name: when hooks are
// registered, that is, also when a library has been loaded. Not
// async-signal-safe. Callers are serialised by the lock of hook_sites.cc.
void FindCallerRanges() noexcept;

// HOT. Whether `caller` lies in the range of rule `index`. False while the
// process has no such object. Async-signal-safe.
bool IsInCallerRange(std::uint32_t index, std::uintptr_t caller) noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_CALLER_RANGES_H_
