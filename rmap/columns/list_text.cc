#include "rmap/columns/list_text.h"

namespace countrace::rmap {
namespace {

constexpr std::string_view kSeparator = " > ";

}  // namespace

std::string ListText(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += kSeparator;
    char before = ' ';
    for (const char c : name) {
      if (c == '\\' || (c == '>' && before == ' ')) text += '\\';
      text += before = c;
    }
  }
  return text;
}

std::vector<std::string> ListOf(std::string_view text) {
  std::vector<std::string> names;
  if (text.empty()) return names;
  names.emplace_back();
  while (!text.empty()) {
    if (text.starts_with(kSeparator)) {
      names.emplace_back();
      text.remove_prefix(kSeparator.size());
      continue;
    }
    if (text.front() == '\\' && text.size() > 1) text.remove_prefix(1);
    names.back() += text.front();
    text.remove_prefix(1);
  }
  return names;
}

}  // namespace countrace::rmap
