#include "runtime/recorder/control/control_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/posix/small_file.h"
#include "runtime/control_layout.h"
#include "runtime/pid_namespace.h"
#include "runtime/recorder/system/process_scan.h"

namespace countrace::runtime {
namespace {

constexpr std::string_view kDeleted = " (deleted)";
constexpr std::string_view kLibrary = "/libcountrace-runtime.so";

std::string_view FileName(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

// Removes the text up to the next `separator`, and the separator, from `rest`.
std::string_view TakeField(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view field = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return field;
}

template <typename Integer>
bool ParseWhole(std::string_view text, Integer* number) {
  const auto parsed =
      std::from_chars(text.data(), text.data() + text.size(), *number);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

bool IsMappedFile(int fd, const MappedRuntime& mapped) {
  struct stat info {};
  return fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
         info.st_ino == mapped.page_inode &&
         // A file system may report another device here (btrfs, overlay).
         info.st_size == static_cast<off_t>(kControlPageBytes);
}

// True if a live process has the page mapped, or may have it.
bool MayBeMapped(std::int32_t pid, std::uint64_t inode) {
  if (!IsProcessAlive(pid)) return false;
  const auto maps = base::ReadSmallFile(absl::StrFormat("/proc/%d/maps", pid));
  return !maps.ok() || FindRuntimeInMaps(*maps).page_inode == inode;
}

void RemoveIfDead(const std::string& path, std::int32_t pid) {
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

}  // namespace

std::optional<std::int32_t> ControlFilePid(std::string_view name) {
  if (!name.starts_with(kControlPrefix)) return std::nullopt;
  std::int32_t pid = 0;
  name.remove_prefix(sizeof(kControlPrefix) - 1);
  if (!ParseWhole(name, &pid) || pid <= 0) return std::nullopt;
  return pid;
}

MappedRuntime FindRuntimeInMaps(std::string_view maps) {
  MappedRuntime mapped;
  while (!maps.empty()) {
    // proc(5): range, permissions, offset, device, inode, path.
    std::string_view line = TakeField(maps, '\n');
    const std::size_t slash = line.find('/');
    if (slash == std::string_view::npos) continue;
    std::string_view path = line.substr(slash);
    if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
    if (path.find(kLibrary) != std::string_view::npos) {
      mapped.has_library = true;
    }
    if (!ControlFilePid(FileName(path))) continue;
    const std::string_view range = TakeField(line, ' ');
    for (int skip = 0; skip < 3; ++skip) TakeField(line, ' ');
    if (!ParseWhole(TakeField(line, ' '), &mapped.page_inode)) continue;
    // In a forked child this is its parent's page. The child makes none.
    mapped.page_path = path;
    mapped.page_range = range;
  }
  return mapped;
}

absl::StatusOr<base::ScopedFd> OpenControlFile(std::int32_t pid,
                                               const MappedRuntime& mapped) {
  int error = ENOENT;
  for (const std::string& path :
       {absl::StrFormat("/proc/%d/root%s", pid, mapped.page_path),
        absl::StrFormat("/proc/%d/map_files/%s", pid, mapped.page_range)}) {
    // Names in map_files are links of the kernel; any other name must not be a
    // link.
    const bool by_mapping = path.find("/map_files/") != std::string::npos;
    base::ScopedFd fd(
        open(path.c_str(), O_RDWR | O_CLOEXEC | (by_mapping ? 0 : O_NOFOLLOW)));
    if (IsMappedFile(fd.get(), mapped)) return fd;
    if (!fd.is_open() && !by_mapping) error = errno;
  }
  return base::ErrnoStatus(
      error,
      absl::StrFormat("Cannot open %s of process %d", mapped.page_path, pid));
}

void RemoveDeadControlFiles() {
  for (const char* folder : kControlFolders) {
    const auto names = base::ListDirectory(AT_FDCWD, folder);
    if (!names.ok()) continue;
    for (const std::string& name : *names) {
      const auto pid = ControlFilePid(name);
      if (pid) RemoveIfDead(absl::StrFormat("%s/%s", folder, name), *pid);
    }
  }
}

}  // namespace countrace::runtime
