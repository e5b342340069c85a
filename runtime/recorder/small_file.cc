#include "runtime/recorder/small_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "absl/strings/str_format.h"
#include "runtime/recorder/scoped_fd.h"

namespace countrace::runtime {

void ScopedFd::Reset() noexcept {
  if (fd_ < 0) return;
  const int saved = errno;
  // No retry on EINTR: Linux has released the number either way.
  close(std::exchange(fd_, -1));
  errno = saved;
}

absl::Status ErrnoStatus(int error, const std::string& what) {
  const std::string message =
      absl::StrFormat("%s: %s", what, std::strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENODEV:
    case ESRCH:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(message);
    case EEXIST:
      return absl::AlreadyExistsError(message);
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EIO:
      return absl::ResourceExhaustedError(message);
    case EINVAL:
    case ENAMETOOLONG:
      return absl::InvalidArgumentError(message);
    default:
      return absl::UnavailableError(message);
  }
}

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
  // closedir() closes what fdopendir() got.
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

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::string StatusText(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

}  // namespace countrace::runtime
