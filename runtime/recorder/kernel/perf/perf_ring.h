// One perf ring buffer (mmap of a perf event): reads what the kernel wrote.
//
// In: an open perf event. Out: its records, whole, in ring order, also those
// that wrap the end of the ring. Thread: one reader.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_PERF_PERF_RING_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_PERF_PERF_RING_H_

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace countrace::runtime {

class PerfRing {
 public:
  // `bytes` is rounded up to a power of two of pages. If the memory-lock limit
  // (kernel.perf_event_mlock_kb) forbids that much, halves until it fits;
  // data_bytes() says what it became. Returns: PERMISSION_DENIED,
  // RESOURCE_EXHAUSTED if not even one page can be had.
  static absl::StatusOr<PerfRing> Map(int fd, std::uint64_t bytes);
  ~PerfRing();
  PerfRing(PerfRing&& other) noexcept;
  PerfRing& operator=(PerfRing&& other) noexcept;
  PerfRing(const PerfRing&) = delete;
  PerfRing& operator=(const PerfRing&) = delete;

  // Total bytes the kernel has written. Whatever it wrote before is readable.
  std::uint64_t Head() const;
  std::uint64_t tail() const { return tail_; }
  std::uint64_t data_bytes() const { return data_bytes_; }

  // The next record before position `limit` (a value of Head()), or null. Its
  // bytes stay valid until the next call. Space is given back to the kernel in
  // batches: call Release() after the last.
  const perf_event_header* Next(std::uint64_t limit);
  void Release();
  // Throws away everything before `position`.
  void SkipTo(std::uint64_t position);

 private:
  PerfRing(void* base, std::size_t mapped_bytes, std::uint64_t data_bytes);
  void* base_ = nullptr;  // control page, then the data
  std::size_t mapped_bytes_ = 0;
  std::uint64_t data_bytes_ = 0;
  std::uint64_t tail_ = 0;          // our position
  std::uint64_t released_ = 0;      // what the kernel knows of it
  std::vector<std::byte> wrapped_;  // a record that crosses the end, in one
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_PERF_PERF_RING_H_
