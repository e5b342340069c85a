// An asciicast v2 file: what a terminal was sent, with times
// (docs.asciinema.org/manual/asciicast/v2). One JSON value a line.
// Thread: one.
#ifndef COUNTRACE_VIEWER_REPLAY_CAST_FILE_H_
#define COUNTRACE_VIEWER_REPLAY_CAST_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "viewer/replay/stage_layout.h"

namespace countrace::viewer {

// The first line, with its line end.
std::string CastHeader(StageSize size, const std::string& title);
// `output` was written `time_ns` after the begin.
std::string CastOutput(std::uint64_t time_ns, std::string_view output);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_REPLAY_CAST_FILE_H_
