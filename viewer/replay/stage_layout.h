// How many lines of the stage each block has: they depend on the terminal and
// on the machine alone, so that they stay while the trace plays.
// Thread: any.
#ifndef COUNTRACE_VIEWER_REPLAY_STAGE_LAYOUT_H_
#define COUNTRACE_VIEWER_REPLAY_STAGE_LAYOUT_H_

#include <cstddef>

namespace countrace::viewer {

struct StageSize {
  std::size_t columns = 80, lines = 24;
};
inline constexpr StageSize kLeastStage = {80, 24};

struct StageLayout {
  std::size_t cpu_lines = 0, cpus_a_line = 1, threads = 0, processes = 0;
};

// CPUs have at most a quarter of the lines, and share them where they are more;
// of the rest threads have five parts, processes three. Requires: at least
// kLeastStage.
StageLayout LayoutOf(StageSize size, std::size_t cpus);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_REPLAY_STAGE_LAYOUT_H_
