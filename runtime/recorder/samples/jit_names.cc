#include "runtime/recorder/samples/jit_names.h"

#include "absl/strings/str_format.h"
#include "runtime/recorder/samples/local_symbols.h"
#include "runtime/recorder/system/monotonic_clock.h"

namespace countrace::runtime {

std::vector<JitFunction> NameJitCode(const JitDumps& dumps, std::int32_t pid,
                                     const std::set<std::uint64_t>& addresses,
                                     base::NameLimits& limits,
                                     std::vector<std::string>& messages) {
  const JitDump dumped = dumps.Read(pid, addresses, limits, messages);
  const LocalSymbols mapped =
      ReadJitSymbols(pid, dumps.UserOf(pid), addresses, limits, messages);
  // Another clock's times would say nothing.
  const bool has_times = dumped.has_times && dumped.last_ns <= MonotonicNs();
  bool other_clock = false;
  std::vector<JitFunction> out =
      base::JitFunctionsAt(dumped, has_times, mapped, addresses, other_clock);
  if (other_clock) {
    messages.push_back(absl::StrFormat(
        "jit-%d.dump: its times are not CLOCK_MONOTONIC's, so of functions at "
        "the same address, one after the other, all have the last one's name",
        pid));
  }
  return out;
}

}  // namespace countrace::runtime
