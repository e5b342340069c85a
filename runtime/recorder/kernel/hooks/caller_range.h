// The code range that a dump rule's `from` names in an object, as bytes of its
// file. The kernel can map a code address in any process to such bytes,
// independent of the load address.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_CALLER_RANGE_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_CALLER_RANGE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace countrace::runtime {

struct FileRange {
  std::uint64_t begin, end;
};

// `begin`, `end`: addresses as linked, as `nm` prints them. Thread: any.
// Returns: NOT_FOUND, INVALID_ARGUMENT no such file, or no ELF file, or the
// range does not begin in code of it: the message names both.
absl::StatusOr<FileRange> CodeRangeInFile(const std::string& path,
                                          std::uint64_t begin,
                                          std::uint64_t end);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_CALLER_RANGE_H_
