// What the answering code uses of Abseil's escapes, for wasm
// (viewer/README.md).
#ifndef COUNTRACE_VIEWER_OFFLINE_WASM_ABSL_STRINGS_ESCAPING_H_
#define COUNTRACE_VIEWER_OFFLINE_WASM_ABSL_STRINGS_ESCAPING_H_

#include <charconv>
#include <string>
#include <string_view>

namespace absl {

// Requires: pairs of hex digits only.
inline std::string HexStringToBytes(std::string_view digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    unsigned byte = 0;
    std::from_chars(digits.data() + i, digits.data() + i + 2, byte, 16);
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

}  // namespace absl

#endif  // COUNTRACE_VIEWER_OFFLINE_WASM_ABSL_STRINGS_ESCAPING_H_
