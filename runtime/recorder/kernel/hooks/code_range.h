// A range of code in a file.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_CODE_RANGE_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_CODE_RANGE_H_

#include <cstdint>

namespace countrace::runtime {

// Bytes of the file.
struct CodeRange {
  std::uint64_t offset = 0, bytes = 0;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_CODE_RANGE_H_
