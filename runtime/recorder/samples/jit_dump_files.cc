#include "runtime/recorder/samples/jit_dump_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "runtime/recorder/system/process_owner.h"

namespace countrace::runtime {

void JitDumps::OnMapping(std::int32_t pid, std::string_view path) {
  if (!base::IsJitDumpPath(path) || files_.size() >= kMostFiles) return;
  const std::optional<std::uint32_t> user = RealUser(pid);
  if (!user) return;
  // As the process sees it.
  base::ScopedFd fd(
      open(absl::StrFormat("/proc/%d/root%s", pid, path).c_str(),
           O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY));
  struct stat status;
  if (!fd.is_open() || fstat(fd.get(), &status) != 0 ||
      !S_ISREG(status.st_mode) || status.st_uid != *user) {
    return;
  }
  files_[pid] = {std::string(path), std::move(fd)};
}

void JitDumps::OnCode(std::int32_t pid) {
  if (users_.contains(pid)) return;
  if (const auto user = RealUser(pid)) users_[pid] = *user;
}

std::optional<std::uint32_t> JitDumps::UserOf(std::int32_t pid) const {
  const auto user = users_.find(pid);
  return user == users_.end() ? std::nullopt : std::optional(user->second);
}

JitDump JitDumps::Read(std::int32_t pid,
                       std::vector<std::string>& messages) const {
  const auto file = files_.find(pid);
  if (file == files_.end()) return {};
  JitDump dump = base::ReadJitDump(file->second.fd.get());
  if (!dump.status.ok()) {
    messages.push_back(base::EscapeName(file->second.path) + ": " +
                       std::string(dump.status.message()));
  }
  return dump;
}

}  // namespace countrace::runtime
