// The machine at one instant, as JSON with the index's numbers (API.md,
// "state").
#ifndef COUNTRACE_VIEWER_SERVER_WIRE_STATE_JSON_H_
#define COUNTRACE_VIEWER_SERVER_WIRE_STATE_JSON_H_

#include <nlohmann/json_fwd.hpp>

#include "viewer/index/instant/instant_state.h"

namespace countrace::viewer {

nlohmann::json StateJson(const InstantState& state);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_WIRE_STATE_JSON_H_
