#include "viewer/index/open/build_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace countrace::viewer {
namespace {

// Another user's file could be locked for ever.
bool IsOurs(const base::ScopedFd& file) {
  struct stat status {};
  return ::fstat(file.get(), &status) == 0 && status.st_uid == ::geteuid();
}

bool IsAt(const base::ScopedFd& file, const std::string& path) {
  struct stat open {
  }, named{};
  return ::fstat(file.get(), &open) == 0 &&
         ::lstat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

}  // namespace

std::optional<BuildLock> BuildLock::Try(const std::string& index_path) {
  const std::string path = index_path + ".lock";
  for (;;) {
    base::ScopedFd file(
        ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file.is_open() || !IsOurs(file))
      return BuildLock(base::ScopedFd(), path);
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return std::nullopt;
      return BuildLock(base::ScopedFd(), path);
    }
    // Its last holder may have removed it before it was locked here.
    if (IsAt(file, path)) return BuildLock(std::move(file), path);
  }
}

BuildLock::~BuildLock() {
  if (file_.is_open()) ::unlink(path_.c_str());
}

}  // namespace countrace::viewer
