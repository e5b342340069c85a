// What the answering code uses of absl::StrFormat, for wasm (viewer/README.md):
// %s, %d, %x with a width, %%.
#ifndef COUNTRACE_VIEWER_OFFLINE_WASM_ABSL_STRINGS_STR_FORMAT_H_
#define COUNTRACE_VIEWER_OFFLINE_WASM_ABSL_STRINGS_STR_FORMAT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace absl {
namespace format_internal {

struct Argument {
  template <typename T>
  requires std::is_integral_v<T> Argument(T number)
      : number(static_cast<std::uint64_t>(number)),
        is_negative(std::is_signed_v<T> && number < T{}) {}
  Argument(std::string_view words) : text(words), is_text(true) {}
  Argument(const std::string& words) : text(words), is_text(true) {}
  Argument(const char* words) : text(words), is_text(true) {}

  std::uint64_t number = 0;  // two's complement
  bool is_negative = false;
  std::string_view text;
  bool is_text = false;
};

// Requires: `format` and `arguments` fit, as Abseil checks when it compiles.
inline void Append(std::string& out, std::string_view format,
                   const Argument* argument) {
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    std::size_t width = 0;
    for (++i; format[i] >= '0' && format[i] <= '9'; ++i) {
      width = 10 * width + static_cast<std::size_t>(format[i] - '0');
    }
    if (format[i] == '%') {
      out += '%';
    } else if (argument->is_text) {
      out += (argument++)->text;
    } else {
      const unsigned base = format[i] == 'x' ? 16 : 10;
      const bool negative = argument->is_negative && base == 10;
      std::uint64_t rest = negative ? 0 - argument->number : argument->number;
      ++argument;
      std::string digits;
      do {
        digits += "0123456789abcdef"[rest % base];
        rest /= base;
      } while (rest != 0);
      if (negative) digits += '-';
      while (digits.size() < width) digits += '0';
      out.append(digits.rbegin(), digits.rend());
    }
  }
}

}  // namespace format_internal

template <typename... Arguments>
void StrAppendFormat(std::string* out, std::string_view format,
                     const Arguments&... arguments) {
  const format_internal::Argument list[] = {arguments..., 0};
  format_internal::Append(*out, format, list);
}
template <typename... Arguments>
std::string StrFormat(std::string_view format, const Arguments&... arguments) {
  std::string out;
  StrAppendFormat(&out, format, arguments...);
  return out;
}

}  // namespace absl

#endif  // COUNTRACE_VIEWER_OFFLINE_WASM_ABSL_STRINGS_STR_FORMAT_H_
