#include "runtime/recorder/session/session_processes.h"

#include <fcntl.h>

#include <charconv>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "base/posix/small_file.h"
#include "logformat/session_layout.h"
#include "runtime/recorder/system/monotonic_clock.h"

namespace countrace::runtime {
namespace {

constexpr std::uint64_t kExecWaitNs = 1'000'000;
constexpr int kExecWaits = 1000;

// Whether a process whose environment was empty has none. In execve(2) it has
// none yet between its old address space and its new stack
// (fs/binfmt_elf.c, create_elf_tables); the kernel sets the end of its code
// after that. A kernel thread, and one that has exited, has no `exe`.
bool HasNoEnvironment(const std::string& process) {
  constexpr int kEndCode = 27, kEnvStart = 50;  // fields of proc(5)'s stat
  std::error_code error;
  if (std::filesystem::read_symlink(process + "/exe", error).empty()) {
    return true;
  }
  const auto stat = base::ReadSmallFile(process + "/stat");
  if (!stat.ok()) return true;
  std::istringstream fields(stat->substr(stat->rfind(')') + 1));
  std::string word;
  int field = 3;
  for (; field < kEndCode; ++field) fields >> word;
  std::uint64_t end_code = 0, start = 0, end = 0;
  fields >> end_code;
  for (++field; field < kEnvStart; ++field) fields >> word;
  return !(fields >> start >> end) || (end_code != 0 && start == end);
}

// "" if it has none, is gone, or another user's.
std::string EnvironmentOf(const std::string& process) {
  for (int wait = 0; wait < kExecWaits; ++wait) {
    auto environment = base::ReadSmallFile(process + "/environ");
    if (!environment.ok()) break;
    if (!environment->empty()) return *std::move(environment);
    if (HasNoEnvironment(process)) break;
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
