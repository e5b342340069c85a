#include "runtime/recorder/samples/jit_names.h"

#include <cstddef>

#include "absl/strings/str_format.h"
#include "runtime/recorder/samples/local_symbols.h"
#include "runtime/recorder/system/monotonic_clock.h"

namespace countrace::runtime {

std::vector<JitFunction> NameJitCode(const JitDumps& dumps, std::int32_t pid,
                                     const std::set<std::uint64_t>& addresses,
                                     std::vector<std::string>& messages) {
  const JitDump dumped = dumps.Read(pid, messages);
  const LocalSymbols mapped = ReadJitSymbols(pid, dumps.UserOf(pid), messages);
  // Another clock's times would say nothing.
  const bool has_times = dumped.has_times && dumped.last_ns <= MonotonicNs();
  bool other_clock = false;
  const LocalSymbol* last = nullptr;
  std::set<std::size_t> taken;
  std::vector<JitFunction> out;
  for (const std::uint64_t address : addresses) {
    const std::vector<std::size_t> functions = dumped.history.At(address);
    other_clock |= functions.size() > 1 && !has_times;
    if (functions.size() > 1 && has_times) {
      for (const std::size_t one : functions) {
        if (!taken.insert(one).second) continue;
        JitFunction& function =
            out.emplace_back(JitFunction{dumped.history[one], true});
        // It may have run before it was described.
        if (one == functions.front()) function.function.from_ns = 0;
      }
      continue;
    }
    const LocalSymbol* symbol = dumped.symbols.Find(address);
    if (symbol == nullptr) symbol = mapped.Find(address);
    if (symbol == nullptr || symbol == last) continue;
    last = symbol;
    out.push_back({{.begin = symbol->begin,
                    .bytes = symbol->bytes,
                    .name = symbol->name}});
  }
  if (other_clock) {
    messages.push_back(absl::StrFormat(
        "jit-%d.dump: its times are not CLOCK_MONOTONIC's, so of functions at "
        "the same address, one after the other, all have the last one's name",
        pid));
  }
  return out;
}

}  // namespace countrace::runtime
