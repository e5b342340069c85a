// Functions that a compiler at run time made, as it names them in a file
// perf-PID.map: lines "START BYTES NAME" in base 16.
//
// In: a file, in parts, and the addresses that matter. Out: names of these. Its
// writer may have put anything into it. Thread: any.
#ifndef COUNTRACE_BASE_CODE_PERF_MAP_H_
#define COUNTRACE_BASE_CODE_PERF_MAP_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/code/local_symbols.h"
#include "base/code/name_limits.h"
#include "base/code/read_at.h"

namespace countrace::base {

inline constexpr std::uint64_t kLargestPerfMap = 256 << 20;  // bytes

// "/tmp/perf-5.map", where tools look for that of process 5.
std::string PerfMapPath(std::int32_t pid);
bool IsPerfMapPath(std::string_view path);

struct PerfMap {
  LocalSymbols symbols;
  // Not OK: from a place on that the message names the file was not read.
  absl::Status status;
};
// A later line replaces earlier ones at its addresses. Takes of `limits` what
// the symbols need.
PerfMap ReadPerfMap(const ReadAt& read,
                    const std::set<std::uint64_t>& addresses,
                    NameLimits& limits);

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_CODE_PERF_MAP_H_
