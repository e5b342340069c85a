#include "runtime/inprocess/sites/refused_hooks.h"

#include "runtime/inprocess/process/hook_objects.h"
#include "runtime/inprocess/process/process_state.h"

namespace countrace::runtime {

namespace {

using logformat::DiscardCause;

template <DiscardCause kCause>
void Count() noexcept {
  const SlowPathUse use;  // the session stays mapped
  if (!use.is_open()) return;
  if (SessionIsRecording()) return CountSessionDiscard(kCause, 0);
  // A control thread closes them itself, and may soon open them again.
  if (g_process->preparer_running.load(std::memory_order_relaxed) == 0) {
    CloseAllGates();
  }
}

template <DiscardCause kCause>
void Refuse(std::uint32_t) noexcept {
  Count<kCause>();
}
template <DiscardCause kCause>
void RefusePayload(const countrace_hook_site*, std::uint32_t,
                   const countrace_value*, std::uint32_t) noexcept {
  Count<kCause>();
}

template <DiscardCause kCause>
constexpr countrace_sink kRefusedSink = {sizeof(countrace_sink),
                                         COUNTRACE_ABI_VERSION, &Refuse<kCause>,
                                         &RefusePayload<kCause>};

}  // namespace

const countrace_sink* RefusedSink(DiscardCause cause) noexcept {
  return cause == DiscardCause::kDiskFull
             ? &kRefusedSink<DiscardCause::kDiskFull>
             : &kRefusedSink<DiscardCause::kNoResource>;
}

bool IsRefusedSink(const countrace_sink* sink) noexcept {
  return sink == RefusedSink(DiscardCause::kDiskFull) ||
         sink == RefusedSink(DiscardCause::kNoResource);
}

}  // namespace countrace::runtime
