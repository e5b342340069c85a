#include "runtime/recorder/samples/local_symbols.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "absl/strings/str_format.h"
#include "base/posix/scoped_fd.h"
#include "base/posix/small_file.h"
#include "runtime/recorder/system/pid_namespace.h"

namespace countrace::runtime {
namespace {

constexpr std::uint64_t kLargestMap = 256 << 20;

base::ScopedFd OpenMapAt(const std::string& path) {
  return base::ScopedFd(open(
      path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY));
}

// As the process sees it, that has another /tmp and number in a container; if
// it has ended, as the recorder does. Sets errno; `path` is for the user.
base::ScopedFd OpenMap(std::int32_t pid, std::string& path) {
  if (const std::int32_t number = OwnNumber(pid, pid); number != 0) {
    path = absl::StrFormat("/tmp/perf-%d.map", number);
    base::ScopedFd fd =
        OpenMapAt(absl::StrFormat("/proc/%d/root%s", pid, path));
    if (fd.is_open() || errno == ELOOP) return fd;
  }
  path = absl::StrFormat("/tmp/perf-%d.map", pid);
  return OpenMapAt(path);
}

}  // namespace

LocalSymbols ReadKernelSymbols() {
  const auto text = base::ReadSmallFile("/proc/kallsyms");
  if (!text.ok()) return {};
  return LocalSymbols::OfKernel(*text);
}

LocalSymbols ReadJitSymbols(std::int32_t pid, std::optional<std::uint32_t> user,
                            std::vector<std::string>& messages) {
  std::string path;
  const base::ScopedFd fd = OpenMap(pid, path);
  if (!fd.is_open() && errno == ENOENT) return {};
  struct stat status {};
  std::string why;
  if (!fd.is_open()) {
    why = errno == ELOOP ? "it is a symbolic link" : std::strerror(errno);
  } else if (fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    why = "it is no regular file";
  } else if (!user) {
    why = "the program ended before its user was known";
  } else if (status.st_uid != *user) {
    why = absl::StrFormat("its owner is user %d, and the program is of user %d",
                          status.st_uid, *user);
  } else if (static_cast<std::uint64_t>(status.st_size) > kLargestMap) {
    why = absl::StrFormat("it has %d bytes, at most %d are read",
                          status.st_size, kLargestMap);
  }
  if (!why.empty()) {
    messages.push_back(absl::StrFormat(
        "%s: its names of code made at run time are not taken: %s", path, why));
    return {};
  }
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t bytes =
        read(fd.get(), text.data() + have, text.size() - have);
    if (bytes <= 0) break;
    have += static_cast<std::size_t>(bytes);
  }
  return LocalSymbols::OfJit(std::string_view(text).substr(0, have));
}

}  // namespace countrace::runtime
