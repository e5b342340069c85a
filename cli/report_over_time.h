// `report --by time` and `--by phase`: reads the trace, twice where what was
// asked for by name, or the length of the intervals, must be found out first.
#ifndef COUNTRACE_CLI_REPORT_OVER_TIME_H_
#define COUNTRACE_CLI_REPORT_OVER_TIME_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "rmap/pipeline.h"
#include "rmap/report/report_render.h"
#include "rmap/where/where_expression.h"

namespace countrace::cli {

struct OverTimeRequest {
  std::string trace;
  bool phases = false;
  std::uint64_t every_ns = 0;  // 0: chosen by the trace's length
  rmap::GatingRequest gating;
  std::string process, segment;  // globs; empty: not asked for
  // Instead of the globs.
  const rmap::where::WhereExpression* where = nullptr;
  rmap::RenderOptions render;
  bool show_progress = false;
};

struct OverTimeAnswer {
  std::string text;
  bool has_loss = false;
  bool interrupted = false;  // Ctrl-C: of the records read until then
  std::uint64_t records = 0;
};

// Returns: errors of the reader; OUT_OF_RANGE for too many intervals;
// NOT_FOUND if a glob matches nothing, or `where` selects nothing;
// INVALID_ARGUMENT for a `where` that does not fit the trace; CANCELLED after
// Ctrl-C if nothing was counted yet.
absl::StatusOr<OverTimeAnswer> ReportOverTime(const OverTimeRequest& request);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_REPORT_OVER_TIME_H_
