#include "runtime/inprocess/hook_sites.h"

#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <atomic>

#include "runtime/inprocess/caller_ranges.h"
#include "runtime/inprocess/dump_decision.h"
#include "runtime/inprocess/emit.h"
#include "runtime/inprocess/hook_registry.h"
#include "runtime/inprocess/process_state.h"

namespace countrace::runtime {

namespace {

// Objects with hooks that are loaded now. A fixed table, so that a signal
// handler can walk it; more objects than this stay off, with a message.
struct Object {
  std::atomic<SiteList> start;
  SiteList stop;
};
constexpr std::size_t kMaxObjects = 1024;
Object g_objects[kMaxObjects];
pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;

// `filter` is a list of globs on "provider:name", separated by commas; empty
// selects everything.
bool FilterSelects(const char* filter, const countrace_hook_site& site) {
  if (*filter == '\0') return true;
  char name[256];
  snprintf(name, sizeof(name), "%s:%s", site.provider, site.name);
  char globs[sizeof(g_session->hook_filter)];
  snprintf(globs, sizeof(globs), "%s", filter);
  char* rest = nullptr;
  for (char* glob = strtok_r(globs, ",", &rest); glob != nullptr;
       glob = strtok_r(nullptr, ",", &rest)) {
    if (fnmatch(glob, name, 0) == 0) return true;
  }
  return false;
}

void OpenGate(countrace_hook_site& site, const RegisteredHook& hook) {
  const bool is_exit = site.kind == COUNTRACE_SITE_EXIT;
  site.event_id = hook.id * 2 + (is_exit ? 1 : 0);
  site.sink = SinkFor(ChooseDumps(site, hook.id));
  if (FilterSelects(g_session->hook_filter, site)) {
    // Release: pairs with the acquire load of `enabled` in the hook.
    __atomic_store_n(&site.gate.part.enabled, 1, __ATOMIC_RELEASE);
  }
}

bool AddObject(SiteList start, SiteList stop) {
  for (Object& object : g_objects) {
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

}  // namespace

void RegisterSites(SiteList start, SiteList stop) noexcept {
  pthread_mutex_lock(&g_mutex);
  if (AddObject(start, stop)) {
    FindCallerRanges();
    HookRegistry registry;
    static bool named = false;
    if (!named) {
      named = true;
      registry.AddProcess(g_process->pid.load(std::memory_order_relaxed));
    }
    // Enters before exits: an exit takes the id of the segment it names.
    for (const bool exits : {false, true}) {
      for (SiteList at = start; at < stop; ++at) {
        countrace_hook_site& site = **at;
        if ((site.kind == COUNTRACE_SITE_EXIT) != exits) continue;
        if (site.event_id != 0) continue;  // listed more than once
        RegisteredHook hook;
        if (registry.Register(site, &hook)) OpenGate(site, hook);
      }
    }
  }
  pthread_mutex_unlock(&g_mutex);
}

void ForgetSites(SiteList start, SiteList stop) noexcept {
  (void)stop;
  pthread_mutex_lock(&g_mutex);
  for (Object& object : g_objects) {
    if (object.start.load(std::memory_order_relaxed) == start) {
      object.start.store(nullptr, std::memory_order_release);
    }
  }
  pthread_mutex_unlock(&g_mutex);
}

void CloseAllGates() noexcept {
  for (Object& object : g_objects) {
    const SiteList start = object.start.load(std::memory_order_acquire);
    if (start == nullptr) continue;
    for (SiteList at = start; at < object.stop; ++at) {
      __atomic_store_n(&(*at)->gate.part.enabled, 0, __ATOMIC_RELAXED);
    }
  }
}

}  // namespace countrace::runtime
