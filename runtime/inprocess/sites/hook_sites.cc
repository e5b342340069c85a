#include "runtime/inprocess/sites/hook_sites.h"

#include <stdio.h>

#include "runtime/inprocess/process/caller_ranges.h"
#include "runtime/inprocess/process/process_state.h"
#include "runtime/inprocess/sites/emit.h"
#include "runtime/inprocess/sites/hook_registry.h"
#include "runtime/inprocess/sites/hook_selection.h"
#include "runtime/inprocess/sites/refused_hooks.h"

namespace countrace::runtime {

namespace {

// Takes the lock of the sites for its lifetime.
class SitesLock {
 public:
  SitesLock() noexcept { g_process->sites_lock.Lock(); }
  ~SitesLock() { g_process->sites_lock.Unlock(); }
  SitesLock(const SitesLock&) = delete;
  SitesLock& operator=(const SitesLock&) = delete;

 private:
  SignalBlock signals_;  // outlives the lock
};

bool IsRegistered(const countrace_hook_site& site) noexcept {
  return site.event_id != 0 && site.event_id >> 16 == SessionTag();
}

// The runtime library's own sites are always on, and not listed: what the other
// hooks' records mean depends on their records.
SiteList g_own_start = nullptr, g_own_stop = nullptr;  // guarded by sites_lock

bool IsOwn(const countrace_hook_site& site) noexcept {
  for (SiteList own = g_own_start; own != g_own_stop; ++own) {
    if (*own == &site) return true;
  }
  return false;
}

bool IsKnownLayout(const countrace_hook_site& site) noexcept {
  return site.bytes == sizeof(countrace_hook_site);
}

void SetGate(countrace_hook_site& site) noexcept {
  // Release: pairs with the acquire load of `enabled` in the hook.
  const bool on = IsOwn(site) || HookIsSelected(site);
  __atomic_store_n(&site.gate.part.enabled, on ? 1 : 0, __ATOMIC_RELEASE);
}

void OpenGate(countrace_hook_site& site, const RegisteredHook& hook) {
  const bool is_exit = site.kind == COUNTRACE_SITE_EXIT;
  // The upper half is the recording's tag: MakeRoom rejects a hook that was
  // held up since an earlier recording. The log stores the lower half.
  site.event_id = SessionTag() << 16 | (hook.id * 2 + (is_exit ? 1 : 0));
  site.sink = SinkFor(ChooseDumps(site, hook.id));
  SetGate(site);
}

void RegisterObject(HookRegistry& registry, SiteList start, SiteList stop) {
  static std::uint32_t named_in = 0;  // tag of the session that has our name
  if (named_in != SessionTag()) {
    named_in = SessionTag();
    // Its number names another process for the reader.
    if (g_process->other_namespace.load(std::memory_order_relaxed) == 0)
      registry.AddProcess(g_process->pid.load(std::memory_order_relaxed));
  }
  // Enters before exits: an exit takes the id of its segment.
  for (const bool exits : {false, true}) {
    for (SiteList at = start; at < stop; ++at) {
      countrace_hook_site& site = **at;
      if ((site.kind == COUNTRACE_SITE_EXIT) != exits) continue;
      if (IsRegistered(site)) continue;  // listed more than once
      RegisteredHook hook;
      if (registry.Register(site, &hook)) {
        OpenGate(site, hook);
      } else if (IsKnownLayout(site)) {
        site.sink = RefusedSink(registry.cause());
        SetGate(site);
      } else {
        CountSessionDiscard(registry.cause(), 0);  // one or more
      }
    }
  }
}

const char* KindName(const countrace_hook_site& site) {
  switch (site.kind) {
    case COUNTRACE_SITE_POINT:
      return "point";
    case COUNTRACE_SITE_EXIT:
      return "exit";
    default:
      return "segment";
  }
}

// Returns: bytes of the line; 0 if it does not fit.
std::size_t PrintSite(const countrace_hook_site& site, char* text,
                      std::size_t capacity) {
  std::uint32_t id = site.hook_id;
  if (SessionIsMapped() && IsRegistered(site)) {
    id = (site.event_id & 0xffff) / 2;
  }
  char id_text[12] = "-";
  if (id != 0) snprintf(id_text, sizeof(id_text), "%u", id);
  const int bytes =
      snprintf(text, capacity, "%p\t%s\t%.100s:%.100s\t%.400s:%u\t%s\t%s\n",
               static_cast<const void*>(&site), id_text, site.provider,
               site.name, site.file, site.line, KindName(site),
               HookIsSelected(site) ? "on" : "off");
  return bytes > 0 && static_cast<std::size_t>(bytes) < capacity
             ? static_cast<std::size_t>(bytes)
             : 0;
}

}  // namespace

void RegisterSites(SiteList start, SiteList stop) noexcept {
  const SitesLock lock;
  if (!AddObject(start, stop) || !SessionIsRecording()) return;
  FindCallerRanges();
  HookRegistry registry;
  RegisterObject(registry, start, stop);
}

void RegisterOwnSites(SiteList start, SiteList stop) noexcept {
  const SitesLock lock;
  EnsureProcessInitialised();
  g_own_start = start;
  g_own_stop = stop;
  if (!AddObject(start, stop) || !SessionIsRecording()) return;
  HookRegistry registry;
  RegisterObject(registry, start, stop);
}

void OpenSelectedGates() noexcept {
  FindCallerRanges();
  HookRegistry registry;
  ForEachObject([&](SiteList start, SiteList stop) {
    RegisterObject(registry, start, stop);
  });
}

void ChooseSinksAgain() noexcept {
  const SitesLock lock;
  if (!SessionIsRecording()) return;  // the next recording chooses them
  ForEachSite([](countrace_hook_site& site) {
    if (!IsKnownLayout(site) || !IsRegistered(site)) return;
    const std::uint32_t hook_id = (site.event_id & 0xffff) / 2;
    const countrace_sink* const sink = SinkFor(ChooseDumps(site, hook_id));
    __atomic_store_n(&site.sink, sink, __ATOMIC_RELEASE);
  });
}

void ForgetSites(SiteList start, SiteList stop) noexcept {
  (void)stop;
  const SitesLock lock;
  RemoveObject(start);
}

ControlStatus SwitchSites(const char* glob, bool on) noexcept {
  const SitesLock lock;
  bool any = false;
  ForEachSite([&](const countrace_hook_site& site) {
    any =
        any || (IsKnownLayout(site) && !IsOwn(site) && HookMatches(glob, site));
  });
  if (!any) return ControlStatus::kNoMatch;
  if (!AddHookSwitch(glob, on)) return ControlStatus::kTooManySwitches;
  if (!SessionIsRecording()) return ControlStatus::kOk;
  ForEachSite([](countrace_hook_site& site) {
    if (IsKnownLayout(site) &&
        (IsRegistered(site) || IsRefusedSink(site.sink))) {
      SetGate(site);
    }
  });
  return ControlStatus::kOk;
}

std::size_t ListSites(std::uint32_t from, char* text, std::size_t capacity,
                      std::uint32_t* next) noexcept {
  const SitesLock lock;
  std::size_t used = 0;
  std::uint32_t number = 0;
  *next = 0;
  ForEachSite([&](const countrace_hook_site& site) {
    if (IsOwn(site)) return;
    const std::uint32_t mine = number++;
    if (mine < from || *next != 0 || !IsKnownLayout(site)) return;
    const std::size_t bytes = PrintSite(site, text + used, capacity - used);
    used += bytes;
    if (bytes == 0) *next = mine;
  });
  return used;
}

}  // namespace countrace::runtime
