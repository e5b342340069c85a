// More events than one recording counts at once, as sets that it has room for:
// `countrace stat --all`.
//
// Thread: any; no state.
#ifndef COUNTRACE_RUNTIME_RECORDER_EVENTS_SESSION_ROOM_H_
#define COUNTRACE_RUNTIME_RECORDER_EVENTS_SESSION_ROOM_H_

#include <string>
#include <vector>

namespace countrace::runtime {

struct FittingSets {
  std::vector<std::string> words;     // as in -e
  std::vector<std::string> left_out;  // events
};

// `words`: events that always count, and sets "{a,b}" as InRotation() has them.
// A set that a dump has no room for is split; events and sets beyond those of a
// session are left out, the last ones first.
FittingSets FitIntoSession(const std::vector<std::string>& words);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_EVENTS_SESSION_ROOM_H_
