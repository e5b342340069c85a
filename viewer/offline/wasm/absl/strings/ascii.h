// What the answering code uses of Abseil's characters, for wasm
// (viewer/README.md).
#ifndef COUNTRACE_VIEWER_OFFLINE_WASM_ABSL_STRINGS_ASCII_H_
#define COUNTRACE_VIEWER_OFFLINE_WASM_ABSL_STRINGS_ASCII_H_

#include <string>
#include <string_view>

namespace absl {

inline bool ascii_isdigit(unsigned char c) { return c >= '0' && c <= '9'; }
inline bool ascii_isxdigit(unsigned char c) {
  return ascii_isdigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
inline std::string AsciiStrToLower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}
inline std::string_view StripAsciiWhitespace(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) + 1 - first);
}

}  // namespace absl

#endif  // COUNTRACE_VIEWER_OFFLINE_WASM_ABSL_STRINGS_ASCII_H_
