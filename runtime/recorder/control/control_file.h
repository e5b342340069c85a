// Finds the control page of a process by what the kernel says it has mapped.
//
// Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_CONTROL_CONTROL_FILE_H_
#define COUNTRACE_RUNTIME_RECORDER_CONTROL_CONTROL_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/posix/scoped_fd.h"

namespace countrace::runtime {

// What /proc/PID/maps says of a process.
struct MappedRuntime {
  std::string page_path;   // of the control page; "" = none
  std::string page_range;  // "BEGIN-END", as in /proc/PID/map_files
  std::uint64_t page_inode = 0;
  bool has_library = false;  // libcountrace-runtime.so is mapped
};
MappedRuntime FindRuntimeInMaps(std::string_view maps);

// Opens the file that is mapped there, by its name as the process sees it or,
// where that is gone or another file's, as root by the mapping itself.
// Returns: NOT_FOUND, PERMISSION_DENIED.
absl::StatusOr<base::ScopedFd> OpenControlFile(std::int32_t pid,
                                               const MappedRuntime& mapped);

// The pid in the name of a control file ("countrace-control-4711").
std::optional<std::int32_t> ControlFilePid(std::string_view name);

// Removes control files of ours that killed processes left behind. One of a
// process in another pid namespace may go with them: it is then found by root
// only.
void RemoveDeadControlFiles();

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_CONTROL_CONTROL_FILE_H_
