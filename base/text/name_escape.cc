#include "base/text/name_escape.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_format.h"

namespace countrace::base {

namespace {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;  // 0: not UTF-8
};

// Decodes the first code point of `text`. Overlong forms, surrogates and values
// beyond U+10FFFF are not UTF-8 (RFC 3629, section 3).
CodePoint DecodeFirst(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint8_t>(text[i]);
  };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  std::size_t bytes = 0;
  std::uint32_t value = 0, least = 0;
  if ((lead & 0xe0) == 0xc0) {
    bytes = 2, value = lead & 0x1fu, least = 0x80;
  } else if ((lead & 0xf0) == 0xe0) {
    bytes = 3, value = lead & 0x0fu, least = 0x800;
  } else if ((lead & 0xf8) == 0xf0) {
    bytes = 4, value = lead & 0x07u, least = 0x10000;
  } else {
    return {};
  }
  if (text.size() < bytes) return {};
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3fu);
  }
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < least || surrogate || value > 0x10ffff) return {};
  return {value, bytes};
}

struct Range {
  std::uint32_t first, last;
};
constexpr Range kUnsafe[] = {
    {0x0000, 0x001f},    // C0 controls, ESC
    {0x007f, 0x009f},    // DEL, C1 controls
    {0x00ad, 0x00ad},    // soft hyphen
    {0x061c, 0x061c},    // Arabic letter mark
    {0x180e, 0x180e},    // Mongolian vowel separator
    {0x200b, 0x200f},    // zero-width space and joiners, direction marks
    {0x2028, 0x202e},    // line separators, bidirectional embeddings, overrides
    {0x2060, 0x206f},    // word joiner, bidirectional isolates
    {0xfeff, 0xfeff},    // byte order mark
    {0xfff9, 0xfffb},    // interlinear annotation
    {0xe0000, 0xe007f},  // tags
};

bool IsUnsafe(std::uint32_t value) {
  return std::any_of(std::begin(kUnsafe), std::end(kUnsafe),
                     [&](const Range& range) {
                       return value >= range.first && value <= range.last;
                     });
}

}  // namespace

std::string EscapeName(std::string_view name) {
  std::string out;
  out.reserve(name.size());
  while (!name.empty()) {
    const CodePoint point = DecodeFirst(name);
    if (point.bytes == 0) {
      absl::StrAppendFormat(&out, "\\x%02x",
                            static_cast<std::uint8_t>(name[0]));
      name.remove_prefix(1);
      continue;
    }
    if (point.value == '\\') {
      out += "\\\\";
    } else if (!IsUnsafe(point.value)) {
      out.append(name.substr(0, point.bytes));
    } else if (point.value < 0x80) {
      absl::StrAppendFormat(&out, "\\x%02x", point.value);
    } else {
      absl::StrAppendFormat(&out, "\\u{%04x}", point.value);
    }
    name.remove_prefix(point.bytes);
  }
  return out;
}

std::size_t DisplayColumns(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(),
      [](char c) { return (static_cast<std::uint8_t>(c) & 0xc0) != 0x80; }));
}

}  // namespace countrace::base
