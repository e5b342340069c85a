// A text of an imported trace as a payload value (FORMAT.md 4.2): up to its
// first NUL, cut at the longest string that countrace stores.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PAYLOAD_TEXT_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PAYLOAD_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "logformat/packet_layout.h"

namespace countrace::importer {

inline constexpr std::string_view kCut = "...";
// For one text, without its NUL.
inline constexpr std::size_t kMaxText = logformat::kMaxStringBytes - 1;

inline void StoreText(std::string_view text, std::string& out) {
  text = text.substr(0, text.find('\0'));
  if (text.size() > kMaxText) {
    out += text.substr(0, kMaxText - kCut.size());
    out += kCut;
  } else {
    out += text;
  }
  out += '\0';
}

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PAYLOAD_TEXT_H_
