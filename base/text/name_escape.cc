#include "base/text/name_escape.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_format.h"
#include "base/text/utf8.h"

namespace countrace::base {
namespace {

enum class Scope { kName, kLines };

std::string Escape(std::string_view text, Scope scope) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = DecodeFirst(text);
    if (point.bytes == 0) {
      absl::StrAppendFormat(&out, "\\x%02x",
                            static_cast<std::uint8_t>(text[0]));
      text.remove_prefix(1);
      continue;
    }
    if (scope == Scope::kName && point.value == '\\') {
      out += "\\\\";
    } else if (!IsUnsafeToPrint(point.value) ||
               (scope == Scope::kLines && point.value == '\n')) {
      out.append(text.substr(0, point.bytes));
    } else if (point.value < 0x80) {
      absl::StrAppendFormat(&out, "\\x%02x", point.value);
    } else {
      absl::StrAppendFormat(&out, "\\u{%04x}", point.value);
    }
    text.remove_prefix(point.bytes);
  }
  return out;
}

}  // namespace

std::string EscapeName(std::string_view name) {
  return Escape(name, Scope::kName);
}

std::string EscapeLines(std::string_view message) {
  return Escape(message, Scope::kLines);
}

std::size_t DisplayColumns(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(),
      [](char c) { return (static_cast<std::uint8_t>(c) & 0xc0) != 0x80; }));
}

}  // namespace countrace::base
