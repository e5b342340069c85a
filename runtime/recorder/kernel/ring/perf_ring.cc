#include "runtime/recorder/kernel/ring/perf_ring.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"

namespace countrace::runtime {
namespace {

perf_event_mmap_page* ControlPage(void* base) {
  return static_cast<perf_event_mmap_page*>(base);
}

}  // namespace

absl::StatusOr<PerfRing> PerfRing::Map(int fd, std::uint64_t bytes) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  // 1 GiB is the largest size that the kernel's page arithmetic is tested with.
  bytes = std::clamp<std::uint64_t>(bytes, page, std::uint64_t{1} << 30);
  std::uint64_t data_bytes = std::bit_ceil(bytes);
  int error = 0;
  for (; data_bytes >= page; data_bytes /= 2) {
    const std::size_t mapped = static_cast<std::size_t>(page + data_bytes);
    void* base =
        mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base != MAP_FAILED) {
      // A forked command must not keep the ring alive nor pay for its pages.
      madvise(base, mapped, MADV_DONTFORK);
      return PerfRing(base, mapped, data_bytes);
    }
    error = errno;
    if (error != EPERM && error != ENOMEM) break;
  }
  return base::ErrnoStatus(
      error, absl::StrFormat("Cannot map a perf ring: bytes=%d", bytes));
}

PerfRing::PerfRing(void* base, std::size_t mapped_bytes,
                   std::uint64_t data_bytes)
    : base_(base), mapped_bytes_(mapped_bytes), data_bytes_(data_bytes) {}

PerfRing::~PerfRing() {
  if (base_ != nullptr) munmap(base_, mapped_bytes_);
}

PerfRing::PerfRing(PerfRing&& other) noexcept { *this = std::move(other); }

PerfRing& PerfRing::operator=(PerfRing&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(data_bytes_, other.data_bytes_);
  std::swap(tail_, other.tail_);
  std::swap(released_, other.released_);
  std::swap(wrapped_, other.wrapped_);
  return *this;
}

std::uint64_t PerfRing::Head() const {
  // Pairs with the kernel's barrier before it stores data_head
  // (perf_output_put_handle): the records before it are complete.
  return __atomic_load_n(&ControlPage(base_)->data_head, __ATOMIC_ACQUIRE);
}

const perf_event_header* PerfRing::Next(std::uint64_t limit) {
  // Release space during a long drain, or the ring fills behind us.
  if (tail_ - released_ > data_bytes_ / 8) Release();
  if (tail_ + sizeof(perf_event_header) > limit) return nullptr;
  const std::byte* const data =
      static_cast<std::byte*>(base_) + ControlPage(base_)->data_offset;
  const std::uint64_t begin = tail_ & (data_bytes_ - 1);
  // Headers never wrap: records are multiples of 8 bytes.
  const auto* header = reinterpret_cast<const perf_event_header*>(data + begin);
  const std::uint64_t size = header->size;
  if (size < sizeof(perf_event_header) || tail_ + size > limit) {
    // Impossible with a correct kernel; do not loop or read beyond the end.
    tail_ = limit;
    return nullptr;
  }
  tail_ += size;
  if (begin + size <= data_bytes_) return header;
  const std::uint64_t first = data_bytes_ - begin;
  wrapped_.resize(size);
  std::memcpy(wrapped_.data(), data + begin, first);
  std::memcpy(wrapped_.data() + first, data, size - first);
  return reinterpret_cast<const perf_event_header*>(wrapped_.data());
}

void PerfRing::Release() {
  // Pairs with the kernel's load of data_tail: it may overwrite from here on.
  __atomic_store_n(&ControlPage(base_)->data_tail, tail_, __ATOMIC_RELEASE);
  released_ = tail_;
}

void PerfRing::SkipTo(std::uint64_t position) {
  tail_ = position;
  Release();
}

}  // namespace countrace::runtime
