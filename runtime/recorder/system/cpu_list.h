// CPU lists as the kernel prints them: "0,3-7".
//
// Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_SYSTEM_CPU_LIST_H_
#define COUNTRACE_RUNTIME_RECORDER_SYSTEM_CPU_LIST_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace countrace::runtime {

// Ascending, without repeats. Returns: INVALID_ARGUMENT with the position of
// the first bad character, or a CPU number above 65535.
absl::StatusOr<std::vector<std::uint32_t>> ParseCpuList(std::string_view text);

// From /sys/devices/system/cpu; if the file is missing, the CPUs that
// sysconf(3) counts. Ids need not be contiguous.
absl::StatusOr<std::vector<std::uint32_t>> OnlineCpus();
absl::StatusOr<std::vector<std::uint32_t>> PossibleCpus();

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SYSTEM_CPU_LIST_H_
