// Functions that a compiler at run time made, as it describes them in a file
// jit-PID.dump (tools/perf/Documentation/jitdump-specification.txt of the
// kernel), which it maps executable so that tracers see it.
//
// In: a file, in parts, and the addresses that matter. Out: names of these. Its
// writer may have put anything into it. Thread: any.
#ifndef COUNTRACE_BASE_CODE_JIT_DUMP_H_
#define COUNTRACE_BASE_CODE_JIT_DUMP_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/code/code_history.h"
#include "base/code/local_symbols.h"
#include "base/code/name_limits.h"
#include "base/code/read_at.h"

namespace countrace::base {

// Limits of what is read of a file.
inline constexpr std::uint64_t kLargestJitDump = std::uint64_t{4} << 30;
inline constexpr std::size_t kMostJitFunctions = 1'000'000;

struct JitDump {
  CodeHistory history;  // of the addresses that matter
  // The times of `history` are CLOCK_MONOTONIC's, as far as the file says.
  bool has_times = false;
  std::uint64_t first_ns = 0, last_ns = 0;  // of all functions
  // Not OK: the file is damaged, or has more than the limits, from a place on
  // that the message names. What comes before is in `history`.
  absl::Status status;
};
// Functions by the order in which they were made or moved: a later one replaces
// earlier ones at its addresses. The last record may be torn: its writer may
// have been killed. Takes of `limits` what `history` needs.
JitDump ReadJitDump(const ReadAt& read,
                    const std::set<std::uint64_t>& addresses,
                    NameLimits& limits);

// "/tmp/jit-5.dump": the name of such a file.
bool IsJitDumpPath(std::string_view path);

// A function at an address that was asked for.
struct JitFunction {
  TimedFunction function;
  // It had the address at its times only; else its name is good at any time.
  bool has_times = false;
};
// The functions of these addresses, each once; of addresses that the dump does
// not have, those in `others`. `times_hold`: the dump's times are those of the
// samples. Sets `times_missing` if they are not, and an address had several.
std::vector<JitFunction> JitFunctionsAt(
    const JitDump& dump, bool times_hold, const LocalSymbols& others,
    const std::set<std::uint64_t>& addresses, bool& times_missing);

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_CODE_JIT_DUMP_H_
