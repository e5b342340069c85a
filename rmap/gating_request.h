// Whose execution a report counts, of all that the trace recorded.
#ifndef COUNTRACE_RMAP_GATING_REQUEST_H_
#define COUNTRACE_RMAP_GATING_REQUEST_H_

#include <optional>
#include <vector>

#include "logformat/gating.h"
#include "logformat/mark_spec.h"

namespace countrace::rmap {

struct GatingRequest {
  // Not given: marked processes if `marks` are, else all that was recorded.
  std::optional<logformat::Gating> count;
  // Instead of the marks that the trace tells of; process ids, names and
  // `self`, the recorder: users and cgroups are not in a log.
  std::vector<logformat::MarkSpec> marks;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_GATING_REQUEST_H_
