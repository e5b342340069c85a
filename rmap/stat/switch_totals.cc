#include "rmap/stat/switch_totals.h"

#include <algorithm>

#include "logformat/packet_layout.h"

namespace countrace::rmap {

void SwitchTotals::OnDispatch(const DispatchSpan& span) {
  if (span.outside || span.thread == kNoThread) return;
  if (span.end_inferred) {
    ++unknown_;
    last_unknown_ns_[span.cpu] = span.end_ns;
  } else if (logformat::IsRunnable(span.end_state)) {
    ++involuntary_;
    throttled_ += logformat::IsThrottled(span.end_state);
  } else {
    ++voluntary_;
  }
}

void SwitchTotals::OnCounters(const CounterDump& dump) {
  if (!lossy_.empty() && !dump.of_cut)
    lossy_.erase(static_cast<std::int32_t>(dump.cpu));
}

void SwitchTotals::OnLoss(const LossSpan& loss) {
  if (loss.cpu >= 0) lossy_.insert(loss.cpu);
}

std::uint64_t SwitchTotals::unknown(std::uint64_t end_ns) const {
  const auto cut = std::count_if(
      last_unknown_ns_.begin(), last_unknown_ns_.end(),
      [end_ns](const auto& entry) { return entry.second >= end_ns; });
  return unknown_ - static_cast<std::uint64_t>(cut);
}

}  // namespace countrace::rmap
