// Collects when something is missing in a trace, while its index is built.
// Thread: one. Memory: bounded.
#ifndef COUNTRACE_VIEWER_INDEX_BUILD_MISSING_SPANS_H_
#define COUNTRACE_VIEWER_INDEX_BUILD_MISSING_SPANS_H_

#include <vector>

#include "viewer/index/file/file_layout.h"
#include "viewer/index/file/trace_span.h"

namespace countrace::viewer {

class MissingSpans {
 public:
  // Times are absolute; `end_ns` may be kUnknownTime: to the trace's end.
  void Add(MissingSpan span);
  // By time, joined where they touch, relative to `trace`.
  std::vector<MissingSpan> Take(const TraceSpan& trace);

 private:
  void Join();

  std::vector<MissingSpan> spans_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_BUILD_MISSING_SPANS_H_
