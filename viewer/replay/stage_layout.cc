#include "viewer/replay/stage_layout.h"

#include <algorithm>

namespace countrace::viewer {
namespace {

constexpr std::size_t kCpuColumns = 40;
constexpr std::size_t kOtherLines = 2 + 3 + 1;  // title, bar; headings; keys

}  // namespace

StageLayout LayoutOf(StageSize size, std::size_t cpus) {
  StageLayout layout;
  const std::size_t most = size.lines / 4;
  if (cpus > most) layout.cpus_a_line = size.columns / kCpuColumns;
  layout.cpu_lines =
      std::min(most, (cpus + layout.cpus_a_line - 1) / layout.cpus_a_line);
  const std::size_t rest = size.lines - kOtherLines - layout.cpu_lines;
  layout.processes = rest * 3 / 8;
  layout.threads = rest - layout.processes;
  return layout;
}

}  // namespace countrace::viewer
