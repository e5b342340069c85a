#include "base/text/utf8.h"

#include <algorithm>
#include <iterator>

namespace countrace::base {
namespace {

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

}  // namespace

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

bool IsUnsafeToPrint(std::uint32_t code_point) {
  return std::any_of(
      std::begin(kUnsafe), std::end(kUnsafe), [&](const Range& range) {
        return code_point >= range.first && code_point <= range.last;
      });
}

}  // namespace countrace::base
