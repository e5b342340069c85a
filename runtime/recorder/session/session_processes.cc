#include "runtime/recorder/session/session_processes.h"

#include <fcntl.h>

#include <charconv>
#include <vector>

#include "base/posix/small_file.h"
#include "logformat/session_layout.h"

namespace countrace::runtime {

std::set<std::int32_t> ProcessesOfSession(const std::string& directory) {
  const std::string line =
      std::string(logformat::kSessionEnvironment) + "=" + directory + '\0';
  std::set<std::int32_t> pids;
  const auto names = base::ListDirectory(AT_FDCWD, "/proc");
  if (!names.ok()) return pids;
  for (const std::string& name : *names) {
    std::int32_t pid = 0;
    const char* const end = name.data() + name.size();
    if (std::from_chars(name.data(), end, pid).ptr != end) continue;
    const auto environment = base::ReadSmallFile("/proc/" + name + "/environ");
    if (!environment.ok()) continue;
    const std::size_t at = environment->find(line);
    if (at == 0 ||
        (at != std::string::npos && (*environment)[at - 1] == '\0')) {
      pids.insert(pid);
    }
  }
  return pids;
}

}  // namespace countrace::runtime
