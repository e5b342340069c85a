// Any bytes as a jit-PID.dump: names are short, of what the file says, and
// within their room.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/code/jit_dump.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  namespace base = countrace::base;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::set<std::uint64_t> addresses = {0x1000, 0x2000};
  for (const std::uint64_t room :
       {std::uint64_t{700}, base::NameLimits::kBytes}) {
    base::NameLimits limits(room);
    const auto dump =
        base::ReadJitDump(base::ReadAtOf(text), addresses, limits);
    // The smallest record has 64 bytes.
    if (dump.history.size() > size / 32 || limits.bytes() > room) std::abort();
    bool times_missing = false;
    for (const auto& [function, has_times] : base::JitFunctionsAt(
             dump, dump.has_times, {}, addresses, times_missing)) {
      if (function.name.empty() ||
          function.name.size() > base::kLongestJitName) {
        std::abort();
      }
    }
    if (dump.history.size() * 300 > room) std::abort();
  }
  return 0;
}
