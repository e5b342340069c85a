// Any bytes as what objdump prints of a range of code. The first byte is the
// number of bytes in the range, which begins at 0x1000.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "rmap/samples/disassembly.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  countrace::rmap::CodeRange range;
  range.begin = 0x1000;
  range.end = range.begin + data[0];
  std::size_t bytes = 0;
  for (const auto& each : countrace::rmap::InstructionsIn(text, range)) {
    if (each.address < range.begin || each.address >= range.end) std::abort();
    if (text.find(each.text) == text.npos) std::abort();
    bytes += each.text.size() + 3;  // a digit, a colon, a tab
  }
  if (bytes > text.size()) std::abort();
  return 0;
}
