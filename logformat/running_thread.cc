#include "logformat/running_thread.h"

#include <algorithm>
#include <cstring>

namespace countrace::logformat {
namespace {

template <typename Layout>
std::optional<Layout> Load(std::span<const std::byte> record) {
  if (record.size() < sizeof(Layout)) return std::nullopt;
  Layout layout;
  std::memcpy(&layout, record.data(), sizeof(layout));
  return layout;
}

// Then a record without a thread of its own may come in an interrupt of which
// the begin was not recorded.
bool HasInterrupts(const TraceInfo& info) {
  return std::any_of(info.hooks.begin(), info.hooks.end(),
                     [](const HookInfo& hook) {
                       return hook.origin == HookOrigin::kInterrupt;
                     });
}

constexpr std::int32_t Tid(std::uint64_t tids, unsigned first_bit) {
  return static_cast<std::int32_t>(tids >> first_bit & 0xffffffu);
}

}  // namespace

std::optional<std::int32_t> RunningTid(const TraceInfo& info, std::uint16_t id,
                                       std::span<const std::byte> record) {
  if (IsKernelHookEvent(id)) {
    const HookInfo* const hook = info.FindHook(EventHookId(id));
    const auto layout = Load<KernelHookRecord>(record);
    if (hook == nullptr || hook->origin == HookOrigin::kInterrupt || !layout ||
        (hook->kind == HookKind::kPoint && HasInterrupts(info))) {
      return std::nullopt;
    }
    return Tid(layout->ids, 0);
  }
  switch (static_cast<CpuEvent>(id)) {
    case CpuEvent::kDispatch:
      if (const auto layout = Load<DispatchRecord>(record)) {
        return Tid(layout->tids_and_state, 24);
      }
      return std::nullopt;
    case CpuEvent::kSwitchIn:
      if (const auto layout = Load<SwitchInRecord>(record)) {
        return Tid(layout->tids_and_state, 24);
      }
      return std::nullopt;
    case CpuEvent::kCounters:
      if (const auto layout = Load<CountersRecord>(record);
          layout && layout->running_tid != kRunningTidUnknown &&
          (layout->reason ==
               static_cast<std::uint32_t>(CountersReason::kBegin) ||
           !HasInterrupts(info))) {
        return static_cast<std::int32_t>(layout->running_tid);
      }
      return std::nullopt;
    case CpuEvent::kFault:
      if (const auto layout = Load<FaultRecord>(record)) return layout->tid;
      return std::nullopt;
    case CpuEvent::kExec:
      if (const auto layout = Load<CommRecord>(record)) return layout->tid;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace countrace::logformat
