#include "runtime/recorder/samples/process_maps.h"

#include <fstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace countrace::runtime {

ProcessMaps ReadProcessMaps(std::int32_t pid) {
  ProcessMaps out;
  std::ifstream maps(absl::StrFormat("/proc/%d/maps", pid));
  std::size_t bytes = 0;
  for (std::string line; std::getline(maps, line);) {
    bytes += line.size() + 1;
    if (bytes > kMostMapsBytes) {
      out.is_whole = false;
      break;
    }
    // 7f00-7f80 r-xp 00001000 fe:00 1234 /usr/lib/libc.so.6
    const std::vector<absl::string_view> fields =
        absl::StrSplit(line, absl::MaxSplits(' ', 5));
    if (fields.size() < 5 || fields[1].size() < 3) continue;
    const std::pair<absl::string_view, absl::string_view> range =
        absl::StrSplit(fields[0], absl::MaxSplits('-', 1));
    ProcessMapping mapping;
    if (!absl::SimpleHexAtoi(range.first, &mapping.start) ||
        !absl::SimpleHexAtoi(range.second, &mapping.end) ||
        !absl::SimpleHexAtoi(fields[2], &mapping.offset)) {
      continue;
    }
    mapping.is_code = fields[1][2] == 'x';
    mapping.device = std::string(fields[3]);
    if (!absl::SimpleAtoi(fields[4], &mapping.inode)) continue;
    absl::string_view path = fields.size() > 5 ? fields[5] : "";
    while (!path.empty() && path.front() == ' ') path.remove_prefix(1);
    mapping.path = std::string(path);
    out.mappings.push_back(std::move(mapping));
  }
  return out;
}

}  // namespace countrace::runtime
