// Stream files grow by writing zeros where packets will be mapped.
//
// Written, not fallocated: on every file system the space is reserved or the
// call reports ENOSPC. Besides, the page cache keeps one write in one large
// folio (ext4 since Linux 6.16, XFS since 5.18), which is mapped in a third of
// the time of single pages, by the writer and again by each reader.
//
// No allocation, no lock, no state of libc but errno: hooks call it in signal
// handlers.
#ifndef COUNTRACE_LOGFORMAT_ZERO_BLOCKS_H_
#define COUNTRACE_LOGFORMAT_ZERO_BLOCKS_H_

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "base/posix/own_call.h"

namespace countrace::logformat {

inline constexpr std::size_t kZeroBlockBytes = 4096;
inline constexpr std::array<char, kZeroBlockBytes> kZeroBlock = {};

// One block, repeated: the largest write. Not larger: in a folio that is not
// mapped as a whole, ext4 takes time proportional to its size to make each page
// writable.
inline constexpr auto kZeroBlocks = [] {
  std::array<iovec, 64> blocks = {};
  for (iovec& block : blocks) {
    block = {const_cast<char*>(kZeroBlock.data()), kZeroBlock.size()};
  }
  return blocks;
}();

// Writes `bytes` zeros at byte `offset` of `fd`. Returns 0 or errno (ENOSPC,
// EDQUOT, EFBIG, EIO); blocks written before an error stay. Requires: `offset`
// and `bytes` are multiples of kZeroBlockBytes.
inline int WriteZeros(int fd, std::uint64_t offset,
                      std::uint64_t bytes) noexcept {
  const std::uint64_t end = offset + bytes;
  while (offset < end) {
    // Up to a multiple of the largest write: folios are aligned in the file.
    const std::uint64_t block = offset / kZeroBlockBytes;
    const std::uint64_t blocks =
        std::min(kZeroBlocks.size() - block % kZeroBlocks.size(),
                 end / kZeroBlockBytes - block);
    // The last argument is the offset's upper half, for 32-bit kernels.
    const long written =
        base::OwnCall(SYS_pwritev, fd, kZeroBlocks.data(), blocks, offset, 0L);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    // After a short write, the last block is written again; that call returns
    // the cause.
    const auto size = static_cast<std::uint64_t>(written);
    offset += size - size % kZeroBlockBytes;
    if (size >= kZeroBlockBytes) continue;
    const std::uint64_t rest = kZeroBlockBytes - size;
    const long last = base::OwnCall(SYS_pwrite64, fd, kZeroBlock.data(), rest,
                                    static_cast<std::int64_t>(offset + size));
    if (last < 0 && errno == EINTR) continue;
    if (last < 0) return errno;
    if (static_cast<std::uint64_t>(last) < rest) return ENOSPC;
    offset += kZeroBlockBytes;
  }
  return 0;
}

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_ZERO_BLOCKS_H_
