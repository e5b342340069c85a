#include "runtime/inprocess/sites/hook_selection.h"

#include <stdio.h>
#include <string.h>

#include <atomic>

#include "base/text/glob.h"
#include "runtime/control_layout.h"
#include "runtime/inprocess/process/process_state.h"

namespace countrace::runtime {

namespace {

struct Switch {
  char glob[kControlGlobBytes];
  bool on;
  std::uint32_t session_tag;  // recording in which it was given; 0 = none
};
constexpr std::size_t kMaxSwitches = 64;
Switch g_switches[kMaxSwitches];  // oldest first
std::size_t g_switch_count = 0;

// `filter` is a list of globs on "provider:name", separated by commas; empty
// selects everything.
bool FilterSelects(const char* filter,
                   const countrace_hook_site& site) noexcept {
  if (*filter == '\0') return true;
  char globs[sizeof(g_settings->hook_filter)];
  snprintf(globs, sizeof(globs), "%s", filter);
  char* rest = nullptr;
  for (char* glob = strtok_r(globs, ",", &rest); glob != nullptr;
       glob = strtok_r(nullptr, ",", &rest)) {
    if (HookMatches(glob, site)) return true;
  }
  return false;
}

std::uint32_t TagOfSession() noexcept {
  return SessionIsMapped() ? SessionTag() : 0;
}

}  // namespace

bool HookMatches(const char* glob, const countrace_hook_site& site) noexcept {
  char name[256];
  snprintf(name, sizeof(name), "%s:%s", site.provider, site.name);
  return base::GlobMatches(glob, name);
}

bool HookIsSelected(const countrace_hook_site& site) noexcept {
  for (std::size_t i = g_switch_count; i > 0; --i) {
    const Switch& last = g_switches[i - 1];
    if (!HookMatches(last.glob, site)) continue;
    if (!last.on) return false;
    if (last.session_tag != 0 && last.session_tag == TagOfSession()) {
      return true;
    }
    break;
  }
  return FilterSelects(g_settings->hook_filter, site);
}

bool AddHookSwitch(const char* glob, bool on) noexcept {
  if (strlen(glob) >= kControlGlobBytes) return false;
  if (strcmp(glob, "*") == 0 || strcmp(glob, "*:*") == 0) {
    g_switch_count = 0;  // replaces all earlier ones
  }
  for (std::size_t i = 0; i < g_switch_count; ++i) {
    if (strcmp(g_switches[i].glob, glob) != 0) continue;
    memmove(&g_switches[i], &g_switches[i + 1],
            (g_switch_count - i - 1) * sizeof(Switch));
    --g_switch_count;
    break;
  }
  if (g_switch_count == kMaxSwitches) return false;
  Switch& added = g_switches[g_switch_count++];
  strcpy(added.glob, glob);
  added.on = on;
  added.session_tag = TagOfSession();
  return true;
}

}  // namespace countrace::runtime
