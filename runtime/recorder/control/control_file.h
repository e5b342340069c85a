// Finds the control page of a process in the kernel's list of its mappings.
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

// The mappings of a process in /proc/PID/maps that matter here.
struct MappedRuntime {
  std::string page_path;   // of the control page; "" = none
  std::string page_range;  // "BEGIN-END", as in /proc/PID/map_files
  std::uint64_t page_inode = 0;
  bool has_library = false;  // libcountrace-runtime.so is mapped
};
MappedRuntime FindRuntimeInMaps(std::string_view maps);

// Opens the file that is mapped, by its name in the process's file system. If
// that name is gone or belongs to another file, root can open the mapping
// itself. Returns: NOT_FOUND, PERMISSION_DENIED.
absl::StatusOr<base::ScopedFd> OpenControlFile(std::int32_t pid,
                                               const MappedRuntime& mapped);

// The pid in the name of a control file ("countrace-control-4711").
std::optional<std::int32_t> ControlFilePid(std::string_view name);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_CONTROL_CONTROL_FILE_H_
