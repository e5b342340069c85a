#include "base/text/csv_field.h"

#include <charconv>

namespace countrace::base {
namespace {

bool IsNumber(std::string_view text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  return error != std::errc::invalid_argument &&
         end == text.data() + text.size();
}

}  // namespace

std::string CsvField(std::string_view text) {
  const bool is_formula =
      !text.empty() &&
      std::string_view("=+-@\t").find(text.front()) != std::string_view::npos &&
      !IsNumber(text);
  const std::string before = is_formula ? "'" : "";
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return before + std::string(text);
  }
  std::string out = "\"" + before;
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace countrace::base
