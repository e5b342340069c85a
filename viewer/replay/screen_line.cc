#include "viewer/replay/screen_line.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/text/name_escape.h"
#include "base/text/utf8.h"

namespace countrace::viewer {
namespace {

constexpr std::string_view kCut = "..";

// Bytes of the first `columns` code points.
std::size_t BytesOf(std::string_view text, std::size_t columns) {
  std::size_t bytes = 0;
  for (; columns != 0 && bytes < text.size(); --columns) {
    bytes +=
        std::max<std::size_t>(base::DecodeFirst(text.substr(bytes)).bytes, 1);
  }
  return bytes;
}

// One of six colours that are readable on black and on white.
std::size_t ForegroundOf(std::size_t hue) { return 31 + (hue - 1) % 6; }

std::string SgrOf(Style style, std::size_t hue) {
  std::string codes;
  const auto add = [&codes](std::size_t code) {
    absl::StrAppend(&codes, codes.empty() ? "" : ";", code);
  };
  if (style == Style::kBold) add(1);
  if (style == Style::kDim) add(2);
  if (style == Style::kReverse) add(7);
  if (hue != 0) add(ForegroundOf(hue));
  return codes.empty() ? "" : absl::StrCat("\x1b[", codes, "m");
}

}  // namespace

std::string Shortened(std::string_view text, std::size_t columns,
                      bool keep_end) {
  const std::size_t all = base::DisplayColumns(text);
  if (all <= columns) return std::string(text);
  if (columns <= kCut.size()) return std::string(columns, '.');
  const std::size_t kept = columns - kCut.size();
  if (!keep_end) {
    return std::string(text.substr(0, BytesOf(text, kept))).append(kCut);
  }
  return std::string(kCut).append(text.substr(BytesOf(text, all - kept)));
}

std::string BarOf(double share, std::size_t columns, char sign) {
  const double filled = std::min(share, 1.0) * static_cast<double>(columns);
  return std::string(static_cast<std::size_t>(std::lround(filled)), sign);
}

void ScreenLine::Field(std::string_view text, std::size_t columns, Style style,
                       std::size_t hue, bool keep_end) {
  columns = std::min(columns, left_);
  if (columns == 0) return;
  std::string shown = Shortened(text, columns, keep_end);
  const std::size_t blanks = columns - base::DisplayColumns(shown);
  parts_.push_back({std::move(shown), style, hue});
  if (blanks != 0) {
    parts_.push_back({std::string(blanks, ' '), Style::kPlain, 0});
  }
  left_ -= columns;
}

void ScreenLine::Number(std::string_view text, std::size_t columns,
                        Style style) {
  const std::size_t own = base::DisplayColumns(text);
  if (own < columns) Field("", columns - own);
  Field(text, std::min(own, columns), style);
}

std::string ScreenLine::Text(bool color) {
  if (left_ != 0) Field("", left_);
  std::string line;
  for (const Part& part : parts_) {
    const std::string sgr = color ? SgrOf(part.style, part.hue) : "";
    absl::StrAppend(&line, sgr, part.text, sgr.empty() ? "" : "\x1b[0m");
  }
  return line;
}

}  // namespace countrace::viewer
