#include "base/posix/small_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>

#include "base/posix/errno_status.h"
#include "base/posix/scoped_fd.h"
#include "base/text/trim.h"

namespace countrace::base {

absl::StatusOr<std::string> ReadSmallFile(int directory_fd,
                                          const std::string& path) {
  const ScopedFd fd(
      openat(directory_fd, path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd.is_open()) return ErrnoStatus(errno, "Cannot open " + path);
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t got = read(fd.get(), buffer.data(), buffer.size());
    if (got == 0) return text;
    if (got > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(got));
    } else if (errno != EINTR) {
      return ErrnoStatus(errno, "Cannot read " + path);
    }
  }
}

absl::StatusOr<std::string> ReadSmallFile(const std::string& path) {
  return ReadSmallFile(AT_FDCWD, path);
}

absl::StatusOr<std::vector<std::string>> ListDirectory(
    int directory_fd, const std::string& path) {
  const ScopedFd fd(
      openat(directory_fd, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open()) return ErrnoStatus(errno, "Cannot open " + path);
  // closedir() closes the descriptor passed to fdopendir().
  const int raw = fcntl(fd.get(), F_DUPFD_CLOEXEC, 0);
  DIR* directory = raw < 0 ? nullptr : fdopendir(raw);
  if (directory == nullptr) return ErrnoStatus(errno, "Cannot list " + path);
  std::vector<std::string> names;
  while (const dirent* entry = readdir(directory)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::int64_t> ReadNumber(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadSmallFile(path);
  if (!text.ok()) return std::nullopt;
  const std::string_view trimmed = Trim(*text);
  std::int64_t value = 0;
  const auto [end, error] =
      std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), value);
  if (error != std::errc() || end == trimmed.data()) return std::nullopt;
  return value;
}

}  // namespace countrace::base
