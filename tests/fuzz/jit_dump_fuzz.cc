// Any bytes as a jit-PID.dump: names are short and of what the file says.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/code/jit_dump.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using countrace::base::LocalSymbol;
  const auto dump = countrace::base::ReadJitDump(
      [&](std::uint64_t offset, std::span<std::byte> out) -> std::size_t {
        if (offset >= size) return 0;
        const std::size_t bytes =
            std::min<std::size_t>(out.size(), size - offset);
        std::memcpy(out.data(), data + offset, bytes);
        return bytes;
      });
  // The smallest record has 64 bytes.
  if (dump.symbols.size() > size / 32) std::abort();
  for (const std::uint64_t address : {0x1000ul, 0x2000ul}) {
    const LocalSymbol* const symbol = dump.symbols.Find(address);
    if (symbol != nullptr &&
        (symbol->name.empty() ||
         symbol->name.size() > countrace::base::kLongestJitName)) {
      std::abort();
    }
  }
  return 0;
}
