// What a flight recording overwrote: one empty packet behind the first one of a
// stream (FORMAT.md, section 6), and the instant from which on the stream is
// complete.
//
// In: a scanned stream. Out: that instant, for TraceReader. Thread: any.
#ifndef COUNTRACE_LOGFORMAT_READ_OVERWRITTEN_PACKETS_H_
#define COUNTRACE_LOGFORMAT_READ_OVERWRITTEN_PACKETS_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "logformat/read/packet_scanner.h"
#include "logformat/read/record_table.h"
#include "logformat/trace_info.h"

namespace countrace::logformat {

// True if packet `index` stands for overwritten ones.
bool IsOverwritten(const StreamScan& scan, std::size_t index);

// Stores what the heads of the stream's packets say of lost records.
void DescribeLoss(const StreamScan& scan, StreamInfo& stream);

// A time not before the last overwritten record. Requires: IsOverwritten().
std::uint64_t OverwrittenUntilNs(const StreamScan& scan, std::size_t index);

// After this instant no record of the stream was overwritten, and a CPU's has
// had a record that names its thread. Absent: nothing was overwritten. `table`:
// of the stream's class, `of_cpu`.
std::optional<std::uint64_t> KnownAfterNs(const StreamScan& scan,
                                          const RecordTable& table, bool of_cpu,
                                          const TraceInfo& info);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_READ_OVERWRITTEN_PACKETS_H_
