#include "runtime/inprocess/ring/stream_file.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/posix/own_call.h"
#include "logformat/discard_errors.h"
#include "logformat/zero_blocks.h"
#include "runtime/inprocess/process/file_size_limit.h"
#include "runtime/inprocess/process/own_descriptors.h"
#include "runtime/inprocess/process/process_state.h"
#include "runtime/inprocess/ring/spare_streams.h"
#include "runtime/inprocess/ring/stream_names.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace countrace::runtime {

namespace lf = countrace::logformat;

namespace {

constexpr std::uint64_t kFirstBytes = 64 * 1024;

ExtendResult Failure(int error) noexcept {
  const bool disk =
      error == ENOSPC || error == EDQUOT || error == EIO || error == EROFS;
  return {false,
          disk ? lf::DiscardCause::kDiskFull : lf::DiscardCause::kNoResource,
          error};
}

// Makes the pages resident by madvise, which returns an error where a store
// would be a SIGBUS.
int MakeResident(void* memory, std::uint64_t bytes) noexcept {
  if (base::OwnCall(SYS_madvise, memory, bytes, MADV_POPULATE_WRITE) == 0)
    return 0;
  if (errno != EINVAL) return errno;
  // Before Linux 5.14. The blocks exist, so touching the pages is safe.
  for (std::uint64_t at = 0; at < bytes; at += 4096) {
    auto* byte = static_cast<volatile char*>(memory) + at;
    *byte = *byte;
  }
  return 0;
}

std::uint64_t NextBytes(const ThreadRing& ring) noexcept {
  // 64 KiB, 64 KiB, 256 KiB, 1 MiB, ... up to the session's size: a thread that
  // writes little must not use megabytes.
  std::uint64_t bytes = kFirstBytes;
  for (std::uint64_t at = 2 * kFirstBytes; at <= ring.file_bytes && at != 0;
       at *= 4) {
    bytes *= 4;
  }
  return bytes < g_settings->sub_buffer_bytes ? bytes
                                              : g_settings->sub_buffer_bytes;
}

// In `discard` and `flight` mode: takes `bytes` from the session's limit.
bool TakeQuota(std::uint64_t bytes) noexcept {
  if (g_settings->mode == lf::SessionMode::kStream) return true;
  const std::uint64_t before =
      g_session->used_bytes.fetch_add(bytes, std::memory_order_relaxed);
  if (before + bytes <= g_settings->max_bytes) return true;
  g_session->used_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

void ReturnQuota(std::uint64_t bytes) noexcept {
  if (g_settings->mode != lf::SessionMode::kStream) {
    g_session->used_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  }
}

// Returns 0 or errno; on error the file has its old length.
int WriteAndMap(int fd, std::uint64_t offset, std::uint64_t bytes,
                void** memory) noexcept {
  if (!FileMayHave(offset + bytes)) return EFBIG;
  int error = lf::WriteZeros(fd, offset, bytes);
  if (error == 0) {
    *memory = base::OwnMap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                           fd, static_cast<off_t>(offset));
    if (*memory == MAP_FAILED) error = errno;
  }
  if (error == 0) {
    // A forked child keeps this mapping. If a signal handler forked while it
    // interrupted a record, the record is stored twice, identically, instead of
    // a fault.
    error = MakeResident(*memory, bytes);
    if (error != 0) base::OwnCall(SYS_munmap, *memory, bytes);
    if (error == EFAULT) error = ENOSPC;  // a store would have been a SIGBUS
  }
  // No thread uses these bytes yet, and they are zero at most: truncating is
  // safe.
  if (error != 0) base::OwnCall(SYS_ftruncate, fd, offset);
  return error;
}

}  // namespace

std::uint32_t ReadyTarget(const ThreadRing& ring, bool all) noexcept {
  const std::uint32_t used = ring.activations.load(std::memory_order_relaxed);
  const std::uint32_t most =
      all ? 2 * g_settings->sub_buffers : g_settings->sub_buffers;
  const std::uint32_t wanted = most < kMaxReady ? most : kMaxReady;
  const std::uint32_t by_use = used <= 1 ? 1 : used == 2 ? 2 : kMaxReady;
  return by_use < wanted && !all ? by_use : wanted;
}

ExtendResult CreateStreamFile(ThreadRing& ring) noexcept {
  const bool kept = StreamsAreKept();
  if (!kept || SessionPathIsValid()) {
    const DescriptorUse use;
    const long fd = CreateNextStream(&ring.stream);
    if (fd >= 0) {
      ring.created.store(1, std::memory_order_release);
      if (StreamsAreKept()) GiveTail(ring, static_cast<int>(fd));
      base::OwnCall(SYS_close, fd);
      return {true, lf::DiscardCause::kNoResource, 0};
    }
    if (!kept) return Failure(static_cast<int>(-fd));
  }
  const bool taken = TakeSpareStream(ring);
  return {taken, lf::DiscardCause::kNoResource, taken ? 0 : lf::kNoStreamLeft};
}

ExtendResult ExtendStreamFile(ThreadRing& ring, SubBuffer* out) noexcept {
  std::uint64_t bytes = NextBytes(ring);
  if (!TakeQuota(bytes)) return {false, lf::DiscardCause::kTraceFull, 0};
  void* memory = nullptr;
  int error = 0;
  const DescriptorUse use;
  if (ring.tail.page != nullptr) {
    error = TakeFromTail(ring.tail, ring.file_bytes, bytes, &memory);
  } else if (const long fd = OpenStream(ring.stream); fd >= 0) {
    error = WriteAndMap(static_cast<int>(fd), ring.file_bytes, bytes, &memory);
    base::OwnCall(SYS_close, fd);
  } else {
    error = static_cast<int>(-fd);
  }
  if (error != 0) {
    ReturnQuota(bytes);
    return Failure(error);
  }
  ring.file_bytes += bytes;
  *out = {static_cast<std::byte*>(memory), bytes, 0, 0};
  return {true, lf::DiscardCause::kNoResource, 0};
}

}  // namespace countrace::runtime
