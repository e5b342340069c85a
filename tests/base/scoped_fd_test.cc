#include "base/posix/scoped_fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <utility>

namespace countrace::base {
namespace {

bool IsOpen(int fd) { return fcntl(fd, F_GETFD) >= 0; }

int OpenNull() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

TEST_CASE("scoped_fd: closes once, at the end of its owner",
          "[base][scoped_fd]") {
  int fd = -1;
  {
    ScopedFd first(OpenNull());
    fd = first.get();
    REQUIRE(first.is_open());
    ScopedFd second(std::move(first));
    CHECK(second.get() == fd);
    CHECK(IsOpen(fd));
  }
  CHECK_FALSE(IsOpen(fd));
  CHECK_FALSE(ScopedFd().is_open());
}

TEST_CASE("scoped_fd: assignment closes what it replaces",
          "[base][scoped_fd]") {
  ScopedFd kept(OpenNull());
  const int before = kept.get();
  ScopedFd next(OpenNull());
  const int after = next.get();
  kept = std::move(next);
  CHECK_FALSE(IsOpen(before));
  CHECK(kept.get() == after);
  const int released = kept.Release();
  CHECK(IsOpen(released));
  close(released);
}

TEST_CASE("scoped_fd: closing keeps errno", "[base][scoped_fd]") {
  ScopedFd fd(OpenNull());
  errno = ENOENT;
  fd.Reset();
  CHECK(errno == ENOENT);
}

}  // namespace
}  // namespace countrace::base
