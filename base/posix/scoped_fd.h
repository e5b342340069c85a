// An owned file descriptor: closed when it goes out of scope.
#ifndef COUNTRACE_BASE_POSIX_SCOPED_FD_H_
#define COUNTRACE_BASE_POSIX_SCOPED_FD_H_

#include <unistd.h>

#include <utility>

namespace countrace::base {

class ScopedFd {
 public:
  ScopedFd() = default;
  explicit ScopedFd(int fd) noexcept : fd_(fd) {}
  ~ScopedFd() { Reset(); }
  ScopedFd(ScopedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ScopedFd& operator=(ScopedFd&& other) noexcept {
    if (this != &other) {
      Reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ScopedFd(const ScopedFd&) = delete;
  ScopedFd& operator=(const ScopedFd&) = delete;

  int get() const noexcept { return fd_; }
  bool is_open() const noexcept { return fd_ >= 0; }
  // Passes the ownership of the descriptor to the caller.
  int Release() noexcept { return std::exchange(fd_, -1); }
  // Closes; keeps errno, so that error paths can call it.
  void Reset() noexcept;

 private:
  int fd_ = -1;
};

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_POSIX_SCOPED_FD_H_
