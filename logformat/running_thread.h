// Which thread runs on a CPU after a record of its stream, and no interrupt
// that began before it.
#ifndef COUNTRACE_LOGFORMAT_RUNNING_THREAD_H_
#define COUNTRACE_LOGFORMAT_RUNNING_THREAD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "logformat/packet_layout.h"
#include "logformat/trace_info.h"

namespace countrace::logformat {

// The tid, 0: idle. Records before it may be missing. Absent: `record`, a whole
// one with event id `id`, does not name it.
std::optional<std::int32_t> RunningTid(const TraceInfo& info, std::uint16_t id,
                                       std::span<const std::byte> record);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_RUNNING_THREAD_H_
