// The end of a stream that grows without its file. The file is longer than its
// packets, by a hole, and one page behind its last sub-buffer stays mapped. The
// mapping grows over the hole (mremap), and its pages get blocks
// (MADV_POPULATE_WRITE). Neither needs a descriptor, a path or a privilege, and
// a forked child can do it with the mapping that it inherits.
//
// Price: the blocks come page by page, not in large writes
// (logformat/zero_blocks.h). Hence only for processes that are about to lose
// access to their files (spare_streams.h).
//
// Async-signal-safe. Thread: any.
#ifndef COUNTRACE_RUNTIME_INPROCESS_RING_STREAM_TAIL_H_
#define COUNTRACE_RUNTIME_INPROCESS_RING_STREAM_TAIL_H_

#include <cstddef>
#include <cstdint>

namespace countrace::runtime {

struct StreamTail {
  std::byte* page;           // null: the stream has none
  std::uint64_t file_bytes;  // length of the file
};

// Whether the kernel can: Linux 5.14.
bool TailsAreAvailable() noexcept;

// Lengthens the file `fd`, which holds `offset` bytes, and maps the page
// behind them. page == null: the kernel or a limit refused.
StreamTail MakeTail(int fd, std::uint64_t offset) noexcept;

// Maps the next `bytes` of the file, which are at `offset`, and makes them
// resident. Returns 0 or errno (EFBIG, ENOSPC, ENOMEM); after an error the tail
// is as before.
int TakeFromTail(StreamTail& tail, std::uint64_t offset, std::uint64_t bytes,
                 void** memory) noexcept;

void DropTail(StreamTail& tail) noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_RING_STREAM_TAIL_H_
