// When each process of a trace lived, and who forked it.
#ifndef COUNTRACE_VIEWER_INDEX_ROWS_PROCESS_LIFE_H_
#define COUNTRACE_VIEWER_INDEX_ROWS_PROCESS_LIFE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "viewer/index/file/timeline_index.h"

namespace countrace::viewer {

struct ProcessLife {
  // When the first of its threads is in a record. Absent: none ever is.
  std::optional<std::uint64_t> first_ns;
  // When the last of its threads ended. Absent: it outlived the trace, or that
  // is not known.
  std::optional<std::uint64_t> ended_ns;
  // The process that forked it: of those with its parent's pid the latest that
  // was there before it. Absent: the trace has none.
  std::optional<std::uint32_t> parent;
};

// By number of the process. O(rows).
std::vector<ProcessLife> ProcessLives(const TimelineIndex& index);

// Who forked the process, who forked that one, and so on; each once.
std::vector<std::uint32_t> AncestorsOf(const std::vector<ProcessLife>& lives,
                                       std::uint32_t process);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_ROWS_PROCESS_LIFE_H_
