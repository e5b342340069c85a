#include "viewer/server/api/source_files.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"

namespace countrace::viewer {
namespace {

using base::ScopedFd;

// Directories that a hook's file may lie in, as the compiler had them.
constexpr int kMostSteps = 64;

// Closed if the path leads out of the directory or to nothing. The kernel
// checks each step, so no directory can become a link in between.
ScopedFd OpenBelow(int directory, const std::string& path) {
  open_how how = {};
  // A FIFO would keep the opener waiting.
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return ScopedFd(static_cast<int>(
      ::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof(how))));
}

// Absent: no regular file, or it cannot be read.
std::optional<absl::StatusOr<std::string>> TextOf(const ScopedFd& file) {
  struct stat facts = {};
  if (::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return std::nullopt;
  }
  std::string text(kMaxSourceBytes + 1, '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t got =
        ::read(file.get(), text.data() + filled, text.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  if (filled > kMaxSourceBytes) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "The file is too large: limit=%d bytes", kMaxSourceBytes));
  }
  text.resize(filled);
  return text;
}

// Without the steps out of where the compiler ran.
std::string_view WithoutWayUp(std::string_view path) {
  for (;;) {
    if (path.starts_with("../")) {
      path.remove_prefix(3);
    } else if (path.starts_with("./")) {
      path.remove_prefix(2);
    } else if (path.starts_with("/")) {
      path.remove_prefix(1);
    } else {
      return path;
    }
  }
}

}  // namespace

absl::StatusOr<SourceFiles> SourceFiles::Open(
    const std::vector<std::string>& directories) {
  SourceFiles files;
  for (const std::string& path : directories) {
    ScopedFd directory(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory.is_open()) {
      return absl::NotFoundError(absl::StrFormat(
          "Cannot read sources below %s: %s", path, std::strerror(errno)));
    }
    files.roots_.push_back(std::move(directory));
  }
  return files;
}

std::function<std::optional<std::string>(const std::string&)>
SourceFiles::Texts() const {
  if (roots_.empty()) return nullptr;
  return [this](const std::string& file) -> std::optional<std::string> {
    // A line follows, so that a colon of the name is none before a line.
    auto found = Read(file + ":0");
    if (!found.ok()) return std::nullopt;
    return std::move(found->text);
  };
}

absl::StatusOr<SourceFile> SourceFiles::Read(std::string_view location) const {
  const std::size_t colon = location.rfind(':');
  std::uint32_t line = 0;
  std::string_view path = location;
  if (colon != std::string_view::npos &&
      absl::SimpleAtoi(std::string(location.substr(colon + 1)), &line)) {
    path = location.substr(0, colon);
  }
  path = WithoutWayUp(path);
  if (path.empty() || path.find('\0') != std::string_view::npos) {
    return absl::InvalidArgumentError("The hook has no file");
  }
  for (int steps = 0; steps < kMostSteps; ++steps) {
    for (const ScopedFd& root : roots_) {
      const ScopedFd file = OpenBelow(root.get(), std::string(path));
      if (!file.is_open()) continue;
      auto text = TextOf(file);
      if (!text) continue;
      if (!text->ok()) return text->status();
      return SourceFile{std::string(path), **std::move(text), line};
    }
    const std::size_t slash = path.find('/');
    if (slash == std::string_view::npos) break;
    path = WithoutWayUp(path.substr(slash + 1));
    if (path.empty()) break;
  }
  return absl::NotFoundError("No such file below the named directories");
}

}  // namespace countrace::viewer
