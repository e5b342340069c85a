// What the answering code uses of absl::StrSplit, for wasm (viewer/README.md).
#ifndef COUNTRACE_VIEWER_OFFLINE_WASM_ABSL_STRINGS_STR_SPLIT_H_
#define COUNTRACE_VIEWER_OFFLINE_WASM_ABSL_STRINGS_STR_SPLIT_H_

#include <string>
#include <string_view>
#include <vector>

namespace absl {

inline std::vector<std::string> StrSplit(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace absl

#endif  // COUNTRACE_VIEWER_OFFLINE_WASM_ABSL_STRINGS_STR_SPLIT_H_
