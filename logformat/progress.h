// Progress of a long job over a trace.
#ifndef COUNTRACE_LOGFORMAT_PROGRESS_H_
#define COUNTRACE_LOGFORMAT_PROGRESS_H_

#include <cstdint>
#include <functional>

namespace countrace::logformat {

struct Progress {
  std::uint64_t done = 0, total = 0;  // bytes
};

// Called on the thread that does the job. Return false to stop early: the job
// then returns CANCELLED.
using ProgressCallback = std::function<bool(const Progress& progress)>;

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_PROGRESS_H_
