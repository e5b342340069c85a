// The mappings of a running process, as /proc/PID/maps shows them.
//
// Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_SAMPLES_PROCESS_MAPS_H_
#define COUNTRACE_RUNTIME_RECORDER_SAMPLES_PROCESS_MAPS_H_

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

// Empty: it has ended.
std::vector<ProcessMapping> ReadProcessMaps(std::int32_t pid);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SAMPLES_PROCESS_MAPS_H_
