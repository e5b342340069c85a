// Any bytes as a perf-PID.map: only names of addresses that matter, short ones,
// within their room.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/code/perf_map.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  namespace base = countrace::base;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::set<std::uint64_t> addresses = {0x0, 0x10, 0x1000,
                                             ~std::uint64_t{0}};
  for (const std::uint64_t room :
       {std::uint64_t{500}, base::NameLimits::kBytes}) {
    base::NameLimits limits(room);
    const base::PerfMap map =
        base::ReadPerfMap(base::ReadAtOf(text), addresses, limits);
    if (map.symbols.size() > addresses.size() || limits.bytes() > room) {
      std::abort();
    }
    for (const std::uint64_t address : addresses) {
      const base::LocalSymbol* const symbol = map.symbols.Find(address);
      if (symbol != nullptr && (symbol->name.empty() ||
                                symbol->name.size() > base::kLongestJitName)) {
        std::abort();
      }
    }
  }
  return 0;
}
