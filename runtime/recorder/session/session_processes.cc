#include "runtime/recorder/session/session_processes.h"

#include <fcntl.h>

#include <charconv>
#include <filesystem>
#include <vector>

#include "base/posix/small_file.h"
#include "logformat/session_layout.h"
#include "runtime/recorder/system/monotonic_clock.h"

namespace countrace::runtime {
namespace {

constexpr std::uint64_t kExecWaitNs = 1'000'000;
constexpr int kExecWaits = 1000;

// In execve(2), between its old address space and its new stack, a process has
// no environment (fs/binfmt_elf.c, create_elf_tables): field 51 of proc(5)'s
// stat, env_end, is 0. So it is of a kernel thread, which has no `exe`.
bool IsInExec(const std::string& process) {
  std::error_code error;
  if (std::filesystem::read_symlink(process + "/exe", error).empty()) {
    return false;
  }
  const auto stat = base::ReadSmallFile(process + "/stat");
  if (!stat.ok()) return false;
  std::size_t at = stat->rfind(')');
  for (int field = 2; field < 51 && at != std::string::npos; ++field) {
    at = stat->find(' ', at + 1);
  }
  return at != std::string::npos && stat->compare(at, 3, " 0 ") == 0;
}

// "" if it has none, is gone, or another user's.
std::string EnvironmentOf(const std::string& process) {
  for (int wait = 0; wait < kExecWaits; ++wait) {
    auto environment = base::ReadSmallFile(process + "/environ");
    if (!environment.ok()) break;
    if (!environment->empty()) return *std::move(environment);
    if (!IsInExec(process)) {
      // It may have got one between the two looks.
      environment = base::ReadSmallFile(process + "/environ");
      return environment.ok() ? *std::move(environment) : "";
    }
    SleepNs(kExecWaitNs);
  }
  return "";
}

}  // namespace

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
    const std::string environment = EnvironmentOf("/proc/" + name);
    const std::size_t at = environment.find(line);
    if (at == 0 || (at != std::string::npos && environment[at - 1] == '\0')) {
      pids.insert(pid);
    }
  }
  return pids;
}

}  // namespace countrace::runtime
