// The loaded objects (the program, its libraries) that have hook sites.
//
// A fixed table without a lock for readers: a signal handler can walk it.
#ifndef COUNTRACE_RUNTIME_INPROCESS_PROCESS_HOOK_OBJECTS_H_
#define COUNTRACE_RUNTIME_INPROCESS_PROCESS_HOOK_OBJECTS_H_

#include <atomic>
#include <cstddef>

#include "countrace/hook_site.h"

namespace countrace::runtime {

using SiteList = countrace_hook_site* const*;

// Guarded by ProcessState::sites_lock.
struct HookObject {
  std::atomic<SiteList> start;  // null: unused entry
  SiteList stop;
};

inline constexpr std::size_t kMaxObjects = 1024;
extern HookObject g_objects[kMaxObjects] __attribute__((visibility("hidden")));

// False: it is there, or the table is full (with a message on stderr), and its
// hooks stay off. Requires: sites_lock held.
bool AddObject(SiteList start, SiteList stop) noexcept;

// Requires: sites_lock held.
void RemoveObject(SiteList start) noexcept;

template <typename F>
void ForEachObject(F f) {
  for (HookObject& object : g_objects) {
    const SiteList start = object.start.load(std::memory_order_acquire);
    if (start != nullptr) f(start, object.stop);
  }
}

template <typename F>
void ForEachSite(F f) {
  ForEachObject([&](SiteList start, SiteList stop) {
    for (SiteList at = start; at < stop; ++at) f(**at);
  });
}

// Closes every gate at the end of a recording. Async-signal-safe.
void CloseAllGates() noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_PROCESS_HOOK_OBJECTS_H_
