// Stands for thread_times.cc, thread_sums.cc if COUNTRACE_WITH_BPF=OFF.
#include "runtime/recorder/system/thread_times.h"

namespace countrace::runtime {

absl::StatusOr<std::unique_ptr<ThreadTimesWatch>> OpenThreadTimesWatch() {
  return absl::UnimplementedError("This countrace was built without BPF");
}

absl::StatusOr<ThreadSumsReader> OpenThreadSums() {
  return absl::UnimplementedError("This countrace was built without BPF");
}

}  // namespace countrace::runtime
