#include "runtime/inprocess/ring/stream_tail.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/posix/own_call.h"
#include "runtime/inprocess/process/file_size_limit.h"
#include "runtime/inprocess/process/start_values.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace countrace::runtime {

namespace {

// A thread writes so much in 10 minutes at a million records a second. Readers
// map the file: thousands of them must fit into the address space.
constexpr std::uint64_t kHoleBytes = std::uint64_t{16} << 30;
constexpr std::uint64_t kLeastHoleBytes = 64 * 1024;
// Where the file system reports no holes, readers read the zeros.
constexpr std::uint64_t kZerosBytes = std::uint64_t{32} << 20;

bool Lengthen(int fd, std::uint64_t bytes) noexcept {
  return FileMayHave(bytes) && base::OwnCall(SYS_ftruncate, fd, bytes) == 0;
}

bool KnowsHoles(int fd, std::uint64_t offset) noexcept {
  return base::OwnCall(SYS_lseek, fd, offset, SEEK_DATA) < 0 && errno == ENXIO;
}

}  // namespace

bool TailsAreAvailable() noexcept {
  // An empty range: only the advice is checked.
  return base::OwnCall(SYS_madvise, nullptr, 0, MADV_POPULATE_WRITE) == 0;
}

StreamTail MakeTail(int fd, std::uint64_t offset) noexcept {
  std::uint64_t bytes = kHoleBytes;
  while (bytes >= kLeastHoleBytes && !Lengthen(fd, offset + bytes)) bytes /= 2;
  if (bytes < kLeastHoleBytes) return {};
  if (bytes > kZerosBytes && !KnowsHoles(fd, offset)) {
    bytes = kZerosBytes;
    if (!Lengthen(fd, offset + bytes)) return {};
  }
  void* const page = base::OwnMap(nullptr, PageBytes(), PROT_READ | PROT_WRITE,
                                  MAP_SHARED, fd, static_cast<off_t>(offset));
  if (page == MAP_FAILED) return {};
  return {static_cast<std::byte*>(page), offset + bytes};
}

int TakeFromTail(StreamTail& tail, std::uint64_t offset, std::uint64_t bytes,
                 void** memory) noexcept {
  const std::uint64_t page = PageBytes();
  if (offset + bytes + page > tail.file_bytes) return EFBIG;
  void* const grown =
      base::OwnRemap(tail.page, page, bytes + page, MREMAP_MAYMOVE);
  if (grown == MAP_FAILED) return errno;
  tail.page = static_cast<std::byte*>(grown);
  if (base::OwnCall(SYS_madvise, grown, bytes, MADV_POPULATE_WRITE) != 0) {
    const int error = errno;
    base::OwnCall(SYS_munmap, tail.page + page, bytes);
    return error == EFAULT ? ENOSPC : error;  // a store would be a SIGBUS
  }
  tail.page += bytes;
  *memory = grown;
  return 0;
}

void DropTail(StreamTail& tail) noexcept {
  if (tail.page != nullptr) base::OwnCall(SYS_munmap, tail.page, PageBytes());
  tail = {};
}

}  // namespace countrace::runtime
