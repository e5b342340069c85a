#include "rmap/values/exit_values.h"

#include <algorithm>

#include "logformat/packet_layout.h"
#include "rmap/dispatch/kernel_layout.h"

namespace countrace::rmap {
namespace {

bool IsDump(const logformat::EventRecord& record) {
  return record.stream_class == logformat::StreamClass::kCpu &&
         record.event_id ==
             static_cast<std::uint16_t>(logformat::CpuEvent::kCounters);
}
std::uint32_t NumberOf(logformat::CountersReason reason) {
  return static_cast<std::uint32_t>(reason);
}

}  // namespace

void ExitValues::OnRecord(const logformat::EventRecord& record) {
  logformat::CountersRecord dump;
  if (IsDump(record) && Decode(record, dump) &&
      (dump.reason == NumberOf(logformat::CountersReason::kCallsLeftOut) ||
       dump.reason == NumberOf(logformat::CountersReason::kCallsRecorded))) {
    open_.clear();
    return;
  }
  logformat::KernelHookRecord hook;
  if (record.stream_class != logformat::StreamClass::kCpu ||
      !logformat::IsKernelHookEvent(record.event_id) || !Decode(record, hook)) {
    return;
  }
  const std::uint32_t hook_id = logformat::EventHookId(record.event_id);
  if (!IsOf(hook_id)) return;
  const std::int32_t tid = TidsOf(hook.ids).first;
  std::vector<Call>& open = open_[tid];
  if ((record.event_id & logformat::kEventExitBit) == 0) {
    open.push_back({hook_id, record.time_ns});
    return;
  }
  const auto call =
      std::find_if(open.rbegin(), open.rend(),
                   [&](const Call& one) { return one.hook_id == hook_id; });
  if (call == open.rend()) return;
  if (const std::uint32_t value = OfExit(record); value != ValueTable::kNone) {
    values_[{call->begin_ns, hook_id, tid}] = value;
  }
  // Calls inside it ended without a record.
  open.erase(call.base() - 1, open.end());
}

}  // namespace countrace::rmap
