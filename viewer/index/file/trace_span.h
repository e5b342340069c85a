// When a trace was, and times in an index: ns since its begin.
#ifndef COUNTRACE_VIEWER_INDEX_FILE_TRACE_SPAN_H_
#define COUNTRACE_VIEWER_INDEX_FILE_TRACE_SPAN_H_

#include <algorithm>
#include <cstdint>

namespace countrace::viewer {

struct TraceSpan {
  std::uint64_t begin_ns;  // CLOCK_MONOTONIC
  std::uint64_t duration_ns;

  // Times outside are at its edges.
  std::uint64_t Relative(std::uint64_t time_ns) const {
    return std::min(time_ns < begin_ns ? 0 : time_ns - begin_ns, duration_ns);
  }
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_FILE_TRACE_SPAN_H_
