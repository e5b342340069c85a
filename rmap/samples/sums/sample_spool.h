// Single samples in the order in which they come, beyond some thousand in a
// file without a name in $TMPDIR, else in /tmp. Thread: one.
#ifndef COUNTRACE_RMAP_SAMPLES_SUMS_SAMPLE_SPOOL_H_
#define COUNTRACE_RMAP_SAMPLES_SUMS_SAMPLE_SPOOL_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "base/posix/scoped_fd.h"
#include "rmap/result/samples.h"

namespace countrace::rmap {

class SampleSpool {
 public:
  void Add(const TimedSample& sample) {
    part_.push_back(sample);
    if (part_.size() == kPart) WritePart();
  }
  void Clear();
  // May be called again, also after more were added.
  void ForEach(const std::function<void(TimedSample)>& visit) const;
  // The first error of the file: a full disk. Samples are missing then.
  const absl::Status& status() const { return status_; }

 private:
  static constexpr std::size_t kPart = std::size_t{1} << 16;

  void WritePart();

  std::vector<TimedSample> part_;  // behind those of the file
  base::ScopedFd file_;
  std::uint64_t written_ = 0;  // samples
  mutable absl::Status status_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_SUMS_SAMPLE_SPOOL_H_
