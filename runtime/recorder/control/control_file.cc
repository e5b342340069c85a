#include "runtime/recorder/control/control_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "runtime/control_layout.h"

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
    // link. Without O_NONBLOCK its owner's lease (fcntl(2)) would be waited
    // for.
    const bool by_mapping = path.find("/map_files/") != std::string::npos;
    base::ScopedFd fd(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK |
                                             (by_mapping ? 0 : O_NOFOLLOW)));
    if (IsMappedFile(fd.get(), mapped)) return fd;
    if (!fd.is_open() && !by_mapping) error = errno;
  }
  return base::ErrnoStatus(
      error,
      absl::StrFormat("Cannot open %s of process %d", mapped.page_path, pid));
}

}  // namespace countrace::runtime
