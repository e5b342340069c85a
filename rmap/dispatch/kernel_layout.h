// The fixed layouts of kernel records (logformat/packet_layout.h).
#ifndef COUNTRACE_RMAP_DISPATCH_KERNEL_LAYOUT_H_
#define COUNTRACE_RMAP_DISPATCH_KERNEL_LAYOUT_H_

#include <cstdint>
#include <cstring>
#include <optional>

#include "logformat/records.h"

namespace countrace::rmap {

// Copies the layout of `record`. Returns false if the record is shorter.
template <typename Layout>
bool Decode(const logformat::EventRecord& record, Layout& out) {
  if (record.bytes.size() < sizeof(Layout)) return false;
  std::memcpy(&out, record.bytes.data(), sizeof(Layout));
  return true;
}

struct Tids {
  std::int32_t first, second;
  std::uint16_t state;
};
inline Tids TidsOf(std::uint64_t word) {
  return {static_cast<std::int32_t>(word & 0xffffffu),
          static_cast<std::int32_t>(word >> 24 & 0xffffffu),
          static_cast<std::uint16_t>(word >> 48)};
}
// The tids of a dispatch, switch_in or wakeup record; absent: it is shorter.
inline std::optional<Tids> TidsOf(const logformat::EventRecord& record) {
  logformat::DispatchRecord layout;
  static_assert(sizeof(layout) == sizeof(logformat::SwitchInRecord) &&
                sizeof(layout) == sizeof(logformat::WakeupRecord));
  if (!Decode(record, layout)) return std::nullopt;
  return TidsOf(layout.tids_and_state);
}

// The first dump of a CPU.
inline bool IsBegin(const logformat::EventRecord& record) {
  logformat::CountersRecord dump;
  return record.event_id ==
             static_cast<std::uint16_t>(logformat::CpuEvent::kCounters) &&
         Decode(record, dump) &&
         dump.reason ==
             static_cast<std::uint32_t>(logformat::CountersReason::kBegin);
}

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_DISPATCH_KERNEL_LAYOUT_H_
