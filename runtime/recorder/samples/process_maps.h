// The mappings of a running process, as /proc/PID/maps shows them.
//
// Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_SAMPLES_PROCESS_MAPS_H_
#define COUNTRACE_RUNTIME_RECORDER_SAMPLES_PROCESS_MAPS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace countrace::runtime {

struct ProcessMapping {
  std::uint64_t start = 0, end = 0, offset = 0;
  bool is_code = false;
  std::string device;  // "fe:00"
  std::uint64_t inode = 0;
  std::string path;  // as the kernel shows it
};

// A program may have any number of them, with long names.
inline constexpr std::size_t kMostMapsBytes = 8 << 20;

struct ProcessMaps {
  std::vector<ProcessMapping> mappings;  // empty: the process has ended
  bool is_whole = true;  // the file has no more than kMostMapsBytes
};
ProcessMaps ReadProcessMaps(std::int32_t pid);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SAMPLES_PROCESS_MAPS_H_
