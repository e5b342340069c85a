#include "logformat/import/perf/format_check.h"

#include <algorithm>
#include <cstddef>

namespace countrace::importer::perf {

namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool IsWordPart(char c) { return IsLetter(c) || IsDigit(c); }

bool IsNumber(std::string_view text) {
  return !text.empty() && text.size() <= 6 &&
         std::all_of(text.begin(), text.end(), IsDigit);
}
bool IsWord(std::string_view text) {
  return !text.empty() && IsLetter(text[0]) &&
         std::all_of(text.begin(), text.end(), IsWordPart);
}
// "comm[16]", "char[]", "args[MAX]"; a word without brackets too.
bool IsWordOrArray(std::string_view text) {
  const std::size_t open = text.find('[');
  if (open == text.npos) return IsWord(text);
  const std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  return text.back() == ']' && text.size() >= open + 2 &&
         IsWord(text.substr(0, open)) &&
         std::all_of(inside.begin(), inside.end(), IsWordPart);
}

// "__data_loc char[] name", "const char * name", "unsigned long args[6]".
bool IsDeclaration(std::string_view text) {
  std::size_t words = 0;
  bool last_is_word = false;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    std::string_view token = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    // "char *const *argv"
    while (words != 0 && token.starts_with('*')) token.remove_prefix(1);
    if (token.empty()) {
      last_is_word = false;
      continue;
    }
    last_is_word = !token.ends_with('*');
    while (token.ends_with('*')) token.remove_suffix(1);
    // "char[] name": libtraceevent fails on the missing type.
    if (words == 0 ? !IsWord(token) : !IsWordOrArray(token)) return false;
    ++words;
  }
  return words >= 2 && last_is_word;
}

// Removes "PREFIX...;" from the begin of `line`; empty: it is not there.
std::string_view Part(std::string_view prefix, std::string_view& line) {
  const std::size_t end = line.find(';');
  if (!line.starts_with(prefix) || end == line.npos) return {};
  const std::string_view part = line.substr(prefix.size(), end - prefix.size());
  line.remove_prefix(end + 1);
  return part;
}

bool IsField(std::string_view line) {
  return IsDeclaration(Part("\tfield:", line)) &&
         IsNumber(Part("\toffset:", line)) && IsNumber(Part("\tsize:", line)) &&
         (line.empty() || (IsNumber(Part("\tsigned:", line)) && line.empty()));
}

}  // namespace

bool IsKernelFormat(std::string_view text) {
  constexpr std::string_view kName = "name: ", kId = "ID: ";
  int line_number = 0;
  bool fields = false;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == text.npos) return false;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    switch (line_number++) {
      case 0:
        if (!line.starts_with(kName) || !IsWord(line.substr(kName.size()))) {
          return false;
        }
        break;
      case 1:
        if (!line.starts_with(kId) || !IsNumber(line.substr(kId.size()))) {
          return false;
        }
        break;
      case 2:
        if (line != "format:") return false;
        break;
      default:
        if (!line.empty() && !IsField(line)) return false;
        fields |= !line.empty();
    }
  }
  return fields;
}

}  // namespace countrace::importer::perf
