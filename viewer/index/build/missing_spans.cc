#include "viewer/index/build/missing_spans.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace countrace::viewer {

void MissingSpans::Add(MissingSpan span) {
  if (!spans_.empty() && span.begin_ns >= spans_.back().begin_ns &&
      span.begin_ns <= spans_.back().end_ns) {
    spans_.back().end_ns = std::max(spans_.back().end_ns, span.end_ns);
    return;
  }
  if (spans_.size() >= 2 * kMaxMissing) Join();
  spans_.push_back(span);
}

void MissingSpans::Join() {
  std::sort(spans_.begin(), spans_.end(),
            [](const MissingSpan& a, const MissingSpan& b) {
              return a.begin_ns < b.begin_ns;
            });
  std::size_t kept = 0;
  for (const MissingSpan& span : spans_) {
    if (kept != 0 && span.begin_ns <= spans_[kept - 1].end_ns) {
      std::uint64_t& end_ns = spans_[kept - 1].end_ns;
      end_ns = std::max(end_ns, span.end_ns);
    } else {
      spans_[kept++] = span;
    }
  }
  spans_.resize(kept);
  if (kept < kMaxMissing) return;
  for (std::size_t i = 0; i + 1 < kept; i += 2) {
    spans_[i / 2] = {spans_[i].begin_ns, spans_[i + 1].end_ns};
  }
  if (kept % 2 != 0) spans_[kept / 2] = spans_[kept - 1];
  spans_.resize((kept + 1) / 2);
}

std::vector<MissingSpan> MissingSpans::Take(const TraceSpan& trace) {
  Join();
  for (MissingSpan& span : spans_) {
    span = {trace.Relative(span.begin_ns), trace.Relative(span.end_ns)};
  }
  return std::move(spans_);
}

}  // namespace countrace::viewer
