#include "logformat/repair/user_hooks.h"

#include "absl/strings/str_format.h"
#include "logformat/description/trace_description.h"

namespace countrace::logformat {
namespace {

// What two processes' hooks must share to be one hook: all but the place.
std::string KeyOf(HookInfo hook) {
  hook.location.clear();
  return HookText(hook) + LevelScopeName(hook.level);
}

bool IsProgramHook(const HookInfo& hook) {
  return hook.origin == HookOrigin::kProgram && hook.id >= kHookIdMin &&
         hook.id < kHookIdKernelMin;
}

}  // namespace

HookMerge::HookMerge(const std::vector<HookInfo>& hooks) {
  for (const HookInfo& hook : hooks) {
    taken_.insert(hook.id);
    if (IsProgramHook(hook)) ids_.emplace(KeyOf(hook), hook.id);
  }
}

std::uint32_t HookMerge::IdFor(const HookInfo& hook) {
  const auto [at, added] = ids_.try_emplace(KeyOf(hook), 0);
  if (!added) return at->second;
  std::uint32_t id = hook.id;
  if (taken_.contains(id)) {
    while (next_ < kHookIdKernelMin && taken_.contains(next_)) ++next_;
    id = next_;
  }
  if (id >= kHookIdKernelMin) return 0;
  taken_.insert(id);
  at->second = id;
  lines_ += absl::StrFormat("%d\t%s\n", id, HookText(hook));
  if (hook.level != LevelScope::kNone) {
    lines_ +=
        absl::StrFormat("0\tlevel\t%d\t%s\n", id, LevelScopeName(hook.level));
  }
  return id;
}

UserHooks HookMerge::Add(const std::vector<HookInfo>& hooks) {
  UserHooks added;
  added.ids.resize(kHookIdMax + 1);
  for (const HookInfo& hook : hooks) {
    const std::uint32_t id = IsProgramHook(hook) ? IdFor(hook) : 0;
    if (id == 0) {
      ++added.refused;
      continue;
    }
    added.ids[hook.id] = static_cast<std::uint16_t>(id);
    added.hooks.push_back(hook);
  }
  return added;
}

}  // namespace countrace::logformat
