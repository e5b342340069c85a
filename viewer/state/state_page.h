// The contents of `countrace state` for one instant: the machine's state, the
// step that led there, and the distance to the boundaries before and after.
//
// Flow: CollectPage -> StatePageText or StatePageJson.
#ifndef COUNTRACE_VIEWER_STATE_STATE_PAGE_H_
#define COUNTRACE_VIEWER_STATE_STATE_PAGE_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "viewer/index/file/timeline_index.h"
#include "viewer/index/instant/instant_state.h"
#include "viewer/index/instant/nearest_step.h"

namespace countrace::viewer {

// The nearest boundaries of one kind, strictly before and after the instant.
struct NearSteps {
  const char* kind;
  std::optional<Step> previous, next;
};

struct StatePage {
  InstantState state;
  std::optional<Step> step;  // that led here
  std::vector<NearSteps> near;
};

StatePage CollectPage(const TimelineIndex& index, std::uint64_t time_ns,
                      const StateOptions& options, std::optional<Step> step);

// The filter for a step of `kind`. A number is a tid; other texts are globs on
// the thread's name for dispatches, else on the hook's ("provider:name").
// Returns: NOT_FOUND nothing in the trace matches; INVALID_ARGUMENT `kind` has
// no such property.
absl::StatusOr<StepFilter> FilterOf(const TimelineIndex& index,
                                    std::string_view kind,
                                    const std::vector<std::string>& of);

// The event at a step: "redis-server (tid 7) enters server:handle". Names as
// they are in the trace, not escaped.
std::string DescribeStep(const TimelineIndex& index, const Step& step);

// Names for an index's numbers; "?" where there is none.
std::string HookName(const TimelineIndex& index, std::uint32_t hook_id);
std::vector<std::string> EventNames(const TimelineIndex& index);
// Multiplexed events, which were counted for a part of the time only: what was
// counted is a lower bound.
std::set<std::size_t> EventsInTurns(const TimelineIndex& index);

struct StateTextOptions {
  std::string path;
  std::size_t width = 100;
  bool color = false;
};
std::string StatePageText(const TimelineIndex& index, const StatePage& page,
                          const StateTextOptions& options);
// One object, without a line end. Times are ns on CLOCK_MONOTONIC.
std::string StatePageJson(const TimelineIndex& index, const StatePage& page);
// {"schema": "countrace.state/1", "trace": {...}, "states": [...]}.
std::string StateDocument(const TimelineIndex& index,
                          const std::vector<StatePage>& pages);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_STATE_STATE_PAGE_H_
