// Why a thread waits, and how long calls took, as JSON (API.md, "wait" and
// "durations").
#ifndef COUNTRACE_VIEWER_SERVER_WIRE_WAIT_JSON_H_
#define COUNTRACE_VIEWER_SERVER_WIRE_WAIT_JSON_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "viewer/index/range/call_durations.h"
#include "viewer/index/range/wait_split.h"

namespace countrace::viewer {

nlohmann::json WaitJson(std::uint64_t thread, const WaitSplit& split);
nlohmann::json DurationsJson(std::uint64_t process, std::uint64_t hook,
                             const CallDurations& durations);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_WIRE_WAIT_JSON_H_
