// Code points of text that may hold any bytes.
#ifndef COUNTRACE_BASE_TEXT_UTF8_H_
#define COUNTRACE_BASE_TEXT_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace countrace::base {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;  // 0: not UTF-8
};

// The first code point of `text`, which is not empty. Overlong forms,
// surrogates and values beyond U+10FFFF are not UTF-8 (RFC 3629, section 3).
CodePoint DecodeFirst(std::string_view text);

// True for a code point that a terminal acts on or that changes the look of the
// text around it: C0 and C1 controls, ESC, DEL, bidirectional and zero-width
// marks, line separators, tags.
bool IsUnsafeToPrint(std::uint32_t code_point);

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_TEXT_UTF8_H_
