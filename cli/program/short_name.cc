#include "cli/program/short_name.h"

#include <string_view>

namespace countrace::cli {
namespace {

constexpr std::string_view kCut = "...";

// Where the bracket at `at` closes; npos: it does not. The ">" of "->" is none.
std::size_t CloseOf(const std::string& name, std::size_t at, char open,
                    char close) {
  int depth = 0;
  for (std::size_t i = at; i < name.size(); ++i) {
    if (name[i] == open) ++depth;
    if (name[i] == close && (close != '>' || name[i - 1] != '-') &&
        --depth == 0) {
      return i;
    }
  }
  return std::string::npos;
}

// Whether the bracket at `at` is of "operator()", "operator<", "operator<=>".
bool IsOperator(const std::string& name, std::size_t at) {
  constexpr std::string_view kOperator = "operator";
  std::size_t begin = at;
  if (name[at] == '(' && name.compare(at, 2, "()") != 0) return false;
  while (name[at] == '<' && begin > 0 && name[begin - 1] == '<') --begin;
  return begin >= kOperator.size() &&
         name.compare(begin - kOperator.size(), kOperator.size(), kOperator) ==
             0;
}

// "f(int, long)" as "f(...)". What a bracket says that is the begin of a name,
// "(anonymous namespace)::f", or its end, " (inlined)", stays.
std::string WithoutInside(const std::string& name, char open, char close) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    out += name[i];
    if (name[i] != open || i == 0 || IsOperator(name, i) ||
        name.compare(i, 10, "(anonymous") == 0 ||
        name.compare(i, 9, "(inlined)") == 0) {
      continue;
    }
    const std::size_t end = CloseOf(name, i, open, close);
    if (end == std::string::npos || end - i - 1 <= kCut.size()) continue;
    out += kCut;
    out += close;
    i = end;
  }
  return out;
}

}  // namespace

std::string ShortFunction(const std::string& name, std::size_t columns) {
  std::string text = name;
  if (text.size() > columns) text = WithoutInside(text, '(', ')');
  if (text.size() > columns) text = WithoutInside(text, '<', '>');
  if (text.size() <= columns || columns <= kCut.size()) return text;
  std::size_t end = columns - kCut.size();
  // Between two characters of UTF-8.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
    --end;
  }
  return text.substr(0, end).append(kCut);
}

std::string ShortPath(const std::string& path, std::size_t columns) {
  if (path.size() <= columns || columns <= kCut.size()) return path;
  std::size_t begin = path.size() - (columns - kCut.size());
  while (begin < path.size() &&
         (static_cast<unsigned char>(path[begin]) & 0xc0) == 0x80) {
    ++begin;
  }
  return std::string(kCut).append(path.substr(begin));
}

}  // namespace countrace::cli
