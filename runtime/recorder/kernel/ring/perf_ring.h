// One perf ring buffer (mmap of a perf event): reads the kernel's records.
//
// In: an open perf event. Out: its records, whole, in ring order, also those
// that wrap the end of the ring. Thread: one reader.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_RING_PERF_RING_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_RING_PERF_RING_H_

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace countrace::runtime {

class PerfRing {
 public:
  // `bytes` is rounded up to a power of two of pages. If the memory-lock limit
  // (kernel.perf_event_mlock_kb) forbids the size, it is halved until it fits;
  // data_bytes() returns the result. Returns: PERMISSION_DENIED,
  // RESOURCE_EXHAUSTED not even one page is allowed.
  static absl::StatusOr<PerfRing> Map(int fd, std::uint64_t bytes);
  ~PerfRing();
  PerfRing(PerfRing&& other) noexcept;
  PerfRing& operator=(PerfRing&& other) noexcept;
  PerfRing(const PerfRing&) = delete;
  PerfRing& operator=(const PerfRing&) = delete;

  // Total bytes that the kernel has written; all of them are readable.
  std::uint64_t Head() const;
  std::uint64_t tail() const { return tail_; }
  std::uint64_t data_bytes() const { return data_bytes_; }

  // The next record before position `limit` (a value of Head()), or null. Its
  // bytes stay valid until the next call. Space is released to the kernel in
  // batches: call Release() after the last.
  const perf_event_header* Next(std::uint64_t limit);
  void Release();
  // Discards everything before `position`.
  void SkipTo(std::uint64_t position);

 private:
  PerfRing(void* base, std::size_t mapped_bytes, std::uint64_t data_bytes);
  void* base_ = nullptr;  // control page, then the data
  std::size_t mapped_bytes_ = 0;
  std::uint64_t data_bytes_ = 0;
  std::uint64_t tail_ = 0;          // our position
  std::uint64_t released_ = 0;      // the part of it that the kernel has seen
  std::vector<std::byte> wrapped_;  // a record that crosses the end, in one
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_RING_PERF_RING_H_
