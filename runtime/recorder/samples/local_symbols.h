// Functions that only the recorded machine can name, from its files.
#ifndef COUNTRACE_RUNTIME_RECORDER_SAMPLES_LOCAL_SYMBOLS_H_
#define COUNTRACE_RUNTIME_RECORDER_SAMPLES_LOCAL_SYMBOLS_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/code/local_symbols.h"
#include "base/code/name_limits.h"

namespace countrace::runtime {

using base::LocalSymbol;
using base::LocalSymbols;

// The kernel's functions, of /proc/kallsyms.
LocalSymbols ReadKernelSymbols();
// Those at `addresses` of /tmp/perf-PID.map, as the process sees it. None if it
// is no regular file, not of this user (the program's; absent: not known), or
// larger than 256 MiB: then, and if `limits` end them, `messages` gets why. Its
// writer may have put anything into it.
LocalSymbols ReadJitSymbols(std::int32_t pid, std::optional<std::uint32_t> user,
                            const std::set<std::uint64_t>& addresses,
                            base::NameLimits& limits,
                            std::vector<std::string>& messages);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SAMPLES_LOCAL_SYMBOLS_H_
