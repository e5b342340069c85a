// Which part of the recorded execution a report counts.
#ifndef COUNTRACE_RMAP_STATE_GATING_REQUEST_H_
#define COUNTRACE_RMAP_STATE_GATING_REQUEST_H_

#include <optional>
#include <vector>

#include "logformat/mark_spec.h"
#include "logformat/rules/gating.h"

namespace countrace::rmap {

struct GatingRequest {
  // Absent: marked processes if `marks` is not empty, else everything recorded.
  std::optional<logformat::Gating> count;
  // Replaces the marks of the trace. Process ids, names and `self` (the
  // recorder) are possible; a trace does not store users and cgroups.
  std::vector<logformat::MarkSpec> marks;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_STATE_GATING_REQUEST_H_
