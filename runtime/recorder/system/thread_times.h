// User and system time of each thread, also of those that end: the kernel's
// split, which it makes at its clock ticks.
//
// BPF programs read it: /proc has no thread that has ended, and wait4(2) none
// at all. And what all threads did, as BPF programs add it up. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_SYSTEM_THREAD_TIMES_H_
#define COUNTRACE_RUNTIME_RECORDER_SYSTEM_THREAD_TIMES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace countrace::runtime {

struct ThreadTimes {
  std::int32_t tid = 0;
  std::uint64_t start_ns = 0;                // CLOCK_MONOTONIC, of the thread
  std::uint64_t user_ns = 0, system_ns = 0;  // from Begin() to End()
};

class ThreadTimesWatch {
 public:
  virtual ~ThreadTimesWatch() = default;

  virtual absl::Status Begin() = 0;
  // All threads of the machine that ran between, or could have; of more than
  // 65,536 that end some are missing.
  virtual absl::StatusOr<std::vector<ThreadTimes>> End() = 0;
};

// Returns: PERMISSION_DENIED; UNIMPLEMENTED without BPF, or where this process
// sees other thread numbers than the kernel's.
absl::StatusOr<std::unique_ptr<ThreadTimesWatch>> OpenThreadTimesWatch();

// Seconds and counts since the reader was opened, by name and label as
// Prometheus spells them. What the kernel does not show is missing. None is
// below that of an earlier reading.
using ThreadSums = std::map<std::string, double>;
using ThreadSumsReader = std::function<absl::StatusOr<ThreadSums>()>;

// Returns: PERMISSION_DENIED; UNIMPLEMENTED without BPF.
absl::StatusOr<ThreadSumsReader> OpenThreadSums();

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SYSTEM_THREAD_TIMES_H_
