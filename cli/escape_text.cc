#include "cli/escape_text.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_format.h"

namespace countrace::cli {
namespace {

struct CodePoint {
  std::uint32_t value;
  std::size_t bytes;  // 0: not UTF-8 here
};

// Decodes the code point at the beginning of `text`, which is not empty.
// Overlong forms, surrogates and values above U+10FFFF are not UTF-8.
CodePoint Decode(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint8_t>(text[i]);
  };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {0, 0};
  std::uint32_t value = first & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {0, 0};
    value = value << 6 | (byte(i) & 0x3fu);
  }
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < kSmallest[bytes] || value > 0x10ffff || surrogate) return {0, 0};
  return {value, bytes};
}

bool CanDriveTerminal(std::uint32_t value) {
  if (value < 0x20) return value != '\n';
  return (value >= 0x7f && value <= 0x9f) ||      // DEL, C1
         value == 0x061c ||                       // Arabic letter mark
         (value >= 0x200b && value <= 0x200f) ||  // zero width, LRM, RLM
         (value >= 0x2028 && value <= 0x202e) ||  // separators, embeddings
         (value >= 0x2060 && value <= 0x2069) ||  // invisible, isolates
         value == 0xfeff;
}

}  // namespace

std::string EscapeText(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint at = Decode(text);
    const std::size_t bytes = at.bytes == 0 ? 1 : at.bytes;
    if (at.bytes != 0 && !CanDriveTerminal(at.value)) {
      out.append(text.substr(0, bytes));
    } else {
      for (const char c : text.substr(0, bytes)) {
        absl::StrAppendFormat(&out, "\\x%02x", static_cast<std::uint8_t>(c));
      }
    }
    text.remove_prefix(bytes);
  }
  return out;
}

std::string JsonString(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const CodePoint at = Decode(text);
    if (at.bytes == 0) {
      out += "\xef\xbf\xbd";
    } else if (at.value == '"' || at.value == '\\') {
      out += '\\';
      out += static_cast<char>(at.value);
    } else if (at.value < 0x20 || CanDriveTerminal(at.value)) {
      absl::StrAppendFormat(&out, "\\u%04x", at.value);
    } else {
      out.append(text.substr(0, at.bytes));
    }
    text.remove_prefix(at.bytes == 0 ? 1 : at.bytes);
  }
  return out + '"';
}

std::string CsvField(std::string_view text) {
  const std::string escaped = EscapeText(text);
  if (escaped.find_first_of(",\"\n") == std::string::npos) return escaped;
  std::string out = "\"";
  for (const char c : escaped) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace countrace::cli
