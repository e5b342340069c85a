// The directory of an LTTng trace: created, or an older trace replaced.
#ifndef COUNTRACE_RUNTIME_RECORDER_LTTNG_LTTNG_DIRECTORY_H_
#define COUNTRACE_RUNTIME_RECORDER_LTTNG_LTTNG_DIRECTORY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace countrace::runtime {

// Creates an empty directory `path` (0700). With `force` an older one is
// emptied first, if it is a trace of LTTng (it holds only `ust` and `kernel`)
// or of ours. Returns: its absolute path; as TraceDirectory::Create().
absl::StatusOr<std::string> MakeLttngDirectory(const std::string& path,
                                               bool force);

// Removes it because nothing was recorded.
void RemoveLttngDirectory(const std::string& path);

// Bytes of all files below `path`.
std::uint64_t BytesBelow(const std::string& path);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_LTTNG_LTTNG_DIRECTORY_H_
