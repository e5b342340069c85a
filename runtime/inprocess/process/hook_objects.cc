#include "runtime/inprocess/process/hook_objects.h"

#include <stdio.h>

namespace countrace::runtime {

HookObject g_objects[kMaxObjects];

bool AddObject(SiteList start, SiteList stop) noexcept {
  for (HookObject& object : g_objects) {
    if (object.start.load(std::memory_order_relaxed) == start) return false;
    if (object.start.load(std::memory_order_relaxed) != nullptr) continue;
    object.stop = stop;
    object.start.store(start, std::memory_order_release);
    return true;
  }
  fprintf(stderr,
          "countrace: hooks stay off in one object: more than %zu objects "
          "with hooks are loaded\n",
          kMaxObjects);
  return false;
}

void RemoveObject(SiteList start) noexcept {
  for (HookObject& object : g_objects) {
    if (object.start.load(std::memory_order_relaxed) == start) {
      object.start.store(nullptr, std::memory_order_release);
    }
  }
}

void CloseAllGates() noexcept {
  ForEachSite([](countrace_hook_site& site) {
    __atomic_store_n(&site.gate.part.enabled, 0, __ATOMIC_RELAXED);
  });
}

}  // namespace countrace::runtime
