#include "runtime/recorder/control/left_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "absl/strings/str_format.h"
#include "base/posix/scoped_fd.h"
#include "base/posix/small_file.h"
#include "runtime/control_layout.h"
#include "runtime/pid_namespace.h"
#include "runtime/recorder/control/control_file.h"
#include "runtime/recorder/system/process_scan.h"

namespace countrace::runtime {
namespace {

// True if a live process has the page mapped, or may have it.
bool MayBeMapped(std::int32_t pid, std::uint64_t inode) {
  if (!IsProcessAlive(pid)) return false;
  const auto maps = base::ReadSmallFile(absl::StrFormat("/proc/%d/maps", pid));
  return !maps.ok() || FindRuntimeInMaps(*maps).page_inode == inode;
}

void RemoveControlPage(const std::string& path, std::int32_t pid) {
  // O_NONBLOCK: any user may make a fifo of this name.
  const base::ScopedFd file(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  std::uint64_t pid_namespace = 0;
  if (!file.is_open() || fstat(file.get(), &info) != 0 ||
      !S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
      pread(file.get(), &pid_namespace, sizeof(pid_namespace),
            offsetof(ControlPage, pid_namespace)) != sizeof(pid_namespace) ||
      pid_namespace != OwnPidNamespace() || MayBeMapped(pid, info.st_ino)) {
    return;
  }
  // A new process with this pid may have replaced the file meanwhile.
  struct stat now {};
  if (lstat(path.c_str(), &now) == 0 && now.st_ino == info.st_ino) {
    unlink(path.c_str());
  }
}

// Files that do not name a pid namespace: their process may live in another
// one, where it is done with them within seconds.
constexpr time_t kOldSeconds = 60;

bool IsOldAndOurs(const struct stat& info) {
  return info.st_uid == geteuid() &&
         info.st_mtime + kOldSeconds < time(nullptr);
}

// The pid behind `prefix` in `name`, before the end or '-'.
std::optional<std::int32_t> PidBehind(std::string_view prefix,
                                      std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  std::int32_t pid = 0;
  const char* const end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data(), end, pid);
  const bool whole =
      parsed.ec == std::errc() && (parsed.ptr == end || *parsed.ptr == '-');
  return whole && pid > 0 ? std::optional(pid) : std::nullopt;
}

void RemoveUnfinished(const std::string& path, std::int32_t pid) {
  struct stat info {};
  if (IsProcessAlive(pid) || lstat(path.c_str(), &info) != 0 ||
      !IsOldAndOurs(info)) {
    return;
  }
  std::error_code ignored;  // remove_all() follows no link
  std::filesystem::remove_all(path, ignored);
}

}  // namespace

void RemoveLeftFiles() {
  const std::string unfinished = absl::StrFormat(".%snew-", kControlPrefix);
  for (const char* folder : kControlFolders) {
    const auto names = base::ListDirectory(AT_FDCWD, folder);
    if (!names.ok()) continue;
    for (const std::string& name : *names) {
      const std::string path = absl::StrFormat("%s/%s", folder, name);
      if (const auto pid = ControlFilePid(name)) RemoveControlPage(path, *pid);
      for (const std::string_view prefix :
           {std::string_view(unfinished),
            std::string_view(kCostFolderPrefix)}) {
        if (const auto pid = PidBehind(prefix, name)) {
          RemoveUnfinished(path, *pid);
        }
      }
    }
  }
}

}  // namespace countrace::runtime
