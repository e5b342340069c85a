// A read of a mapped file beyond its end is a SIGBUS, which ends the process:
// the file shrank since it was mapped, or its disk failed. The guard maps zeros
// over the rest of the file, so that the read goes on, and notes it, so that
// the reader can say it.
//
// The signal handler is there while a guard is. A SIGBUS elsewhere goes to the
// handler that was there before.
#ifndef COUNTRACE_BASE_POSIX_MAPPING_GUARD_H_
#define COUNTRACE_BASE_POSIX_MAPPING_GUARD_H_

#include <cstddef>
#include <utility>

namespace countrace::base {

struct GuardedRange;

class MappingGuard {
 public:
  MappingGuard() = default;
  // Guards the pages of a file that is mapped at `data`. The guard must go
  // before the mapping does.
  MappingGuard(const std::byte* data, std::size_t bytes);
  MappingGuard(MappingGuard&& other) noexcept
      : range_(std::exchange(other.range_, nullptr)) {}
  MappingGuard& operator=(MappingGuard&& other) noexcept {
    std::swap(range_, other.range_);
    return *this;
  }
  ~MappingGuard();

  // A read met a page that the file did not have: it gave zeros.
  bool has_zeros() const;

 private:
  GuardedRange* range_ = nullptr;
};

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_POSIX_MAPPING_GUARD_H_
