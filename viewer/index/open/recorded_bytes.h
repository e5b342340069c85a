// How much was recorded over the time of a whole trace, from the heads of its
// packets: what a page shows of the part that no index has yet.
//
// Exact for each packet, whose bytes are spread evenly over its time. No record
// is decoded, and no checksum looked at.
#ifndef COUNTRACE_VIEWER_INDEX_OPEN_RECORDED_BYTES_H_
#define COUNTRACE_VIEWER_INDEX_OPEN_RECORDED_BYTES_H_

#include <cstdint>
#include <vector>

#include "logformat/read/trace_reader.h"
#include "viewer/index/file/trace_span.h"

namespace countrace::viewer {

struct RecordedBytes {
  TraceSpan span{};
  // By column (OverviewBoundary()): bytes of records in streams of CPUs and of
  // threads; 1: some of this time were lost, in any stream.
  std::vector<std::uint64_t> cpus, threads;
  std::vector<std::uint8_t> lost;
};

// Between `begin_ns` and the end of the trace, whose files are not touched.
RecordedBytes RecordedFrom(const logformat::TraceReader& reader,
                           std::uint64_t begin_ns);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_OPEN_RECORDED_BYTES_H_
