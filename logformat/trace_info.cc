#include "logformat/trace_info.h"

#include <algorithm>

namespace countrace::logformat {

const HookInfo* TraceInfo::FindHook(std::uint32_t hook_id) const {
  const auto at = std::lower_bound(
      hooks.begin(), hooks.end(), hook_id,
      [](const HookInfo& hook, std::uint32_t id) { return hook.id < id; });
  return at != hooks.end() && at->id == hook_id ? &*at : nullptr;
}

Gating GatingOf(const TraceInfo& info) {
  if (info.gating) return *info.gating;
  Gating implied;
  implied.unmarked = info.scope != SessionScope::kCommand;
  return implied;
}

}  // namespace countrace::logformat
