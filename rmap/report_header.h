// The report's header: the origin of the trace, what is counted, what recording
// cost.
#ifndef COUNTRACE_RMAP_REPORT_HEADER_H_
#define COUNTRACE_RMAP_REPORT_HEADER_H_

#include "logformat/read/trace_reader.h"
#include "rmap/result/tables.h"
#include "rmap/state/gate.h"

namespace countrace::rmap {

// Fills in what the trace's description and `gate` say, not what was read.
void FillHeader(const logformat::TraceReader& reader, const Gate& gate,
                Report& report);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_REPORT_HEADER_H_
