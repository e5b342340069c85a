#include "base/jail/inner_program.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

namespace countrace::base {
namespace {

namespace fs = std::filesystem;

void LimitTo(int resource, std::uint64_t value) {
  rlimit limit{};
  if (value == 0 && resource != RLIMIT_CORE) return;
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(value, limit.rlim_max);
  if (resource != RLIMIT_NOFILE) limit.rlim_max = limit.rlim_cur;
  setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

// Between fork and exec: async-signal-safe calls only. `from` may be `to`.
bool Inherit(int from, int to) {
  return from == to ? fcntl(from, F_SETFD, 0) >= 0 : dup2(from, to) >= 0;
}

[[noreturn]] void Become(const InnerStart& start, pid_t parent,
                         char* const* arguments) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  LimitTo(RLIMIT_CORE, 0);
  LimitTo(RLIMIT_AS, start.memory_bytes);
  LimitTo(RLIMIT_DATA, start.data_bytes);
  LimitTo(RLIMIT_FSIZE, start.file_bytes);
  LimitTo(RLIMIT_CPU, start.cpu_seconds);
  LimitTo(RLIMIT_NOFILE, start.files);
  const int nothing = open("/dev/null", O_RDWR);
  if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 ||
      dup2(start.output < 0 ? nothing : start.output, STDOUT_FILENO) < 0 ||
      dup2(start.errors < 0 ? nothing : start.errors, STDERR_FILENO) < 0 ||
      !Inherit(start.socket, kInnerSocketFd)) {
    _exit(127);
  }
  close_range(kInnerSocketFd + 1, ~0u, 0);
  execv(arguments[0], arguments);
  _exit(127);
}

}  // namespace

absl::StatusOr<std::string> FindInnerProgram(const InnerProgram& program) {
  std::error_code error;
  if (const char* chosen = std::getenv(program.variable);
      chosen != nullptr && *chosen != '\0') {
    if (fs::is_regular_file(chosen, error)) return std::string(chosen);
    return absl::NotFoundError(
        absl::StrFormat("%s=%s names no file; unset it or name %s",
                        program.variable, chosen, program.name));
  }
  const fs::path own = fs::read_symlink("/proc/self/exe", error);
  if (error) {
    return absl::NotFoundError(absl::StrFormat(
        "cannot find the program's own folder (/proc/self/exe: %s); name %s in "
        "%s",
        error.message(), program.name, program.variable));
  }
  const fs::path folder = own.parent_path();
  std::string looked_at;
  for (const fs::path& candidate :
       {folder / COUNTRACE_LIBEXEC_FROM_PROGRAM / program.name,
        folder / program.name,
        folder / ".." / program.build_folder / program.name,
        folder / "../.." / program.build_folder / program.name}) {
    const fs::path path = candidate.lexically_normal();
    if (fs::is_regular_file(path, error)) return path.string();
    looked_at += (looked_at.empty() ? "" : ", ") + path.string();
  }
  return absl::NotFoundError(
      absl::StrFormat("%s is missing, %s (looked at %s); reinstall countrace",
                      program.name, program.without, looked_at));
}

absl::StatusOr<pid_t> StartInner(const InnerStart& start) {
  std::vector<char*> arguments;
  arguments.reserve(start.words.size() + 1);
  for (const std::string& word : start.words) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return absl::ErrnoToStatus(errno, "Cannot start a process");
  if (child == 0) Become(start, parent, arguments.data());
  return child;
}

}  // namespace countrace::base
