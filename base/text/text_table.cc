#include "base/text/text_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"

namespace countrace::base {

namespace {

constexpr std::size_t kGap = 2;
constexpr char kBold[] = "\x1b[1m";
constexpr char kPlain[] = "\x1b[0m";

// "a, b, c", at most about two lines of it: "a, b and 120 more".
std::string Listed(const std::vector<std::string>& names, std::size_t width) {
  const std::size_t most = 2 * std::max<std::size_t>(width, 80);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i != 0 && text.size() + names[i].size() > most) {
      return text + absl::StrFormat(" and %d more", names.size() - i);
    }
    text += (i == 0 ? "" : ", ") + names[i];
  }
  return text;
}

}  // namespace

TextTable::TextTable(std::size_t indent) : indent_(indent) {}

void TextTable::AddColumn(std::string_view title, Align align, bool optional) {
  columns_.push_back({std::string(title), align, optional});
}

void TextTable::AddRow(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back({std::move(cells), ""});
}

void TextTable::AddHeading(std::string text) {
  rows_.push_back({{}, std::move(text)});
}

std::string TextTable::Render(std::size_t width, bool color) const {
  std::vector<std::size_t> widths;
  std::size_t total = indent_;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t widest = DisplayColumns(columns_[i].title);
    for (const Row& row : rows_) {
      if (row.cells.empty()) continue;
      widest = std::max(widest, DisplayColumns(row.cells[i]));
    }
    widths.push_back(widest);
    total += widest + (i == 0 ? 0 : kGap);
  }
  std::vector<bool> shown(columns_.size(), true);
  std::vector<std::string> dropped;
  for (std::size_t i = columns_.size(); i-- > 0 && total > width;) {
    if (!columns_[i].optional) continue;
    shown[i] = false;
    total -= widths[i] + kGap;
    dropped.insert(dropped.begin(), columns_[i].title);
  }

  const auto line = [&](const auto& cell_at) {
    std::string text(indent_, ' ');
    bool first = true;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!shown[i]) continue;
      if (!first) text.append(kGap, ' ');
      first = false;
      const std::string& cell = cell_at(i);
      const std::size_t pad = widths[i] - DisplayColumns(cell);
      if (columns_[i].align == Align::kRight) text.append(pad, ' ');
      text += cell;
      if (columns_[i].align == Align::kLeft) text.append(pad, ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  };

  std::string out;
  const std::string titles = line(
      [&](std::size_t i) -> const std::string& { return columns_[i].title; });
  out += color ? kBold + titles + kPlain : titles;
  out += '\n';
  for (const Row& row : rows_) {
    if (row.cells.empty()) {
      out += std::string(indent_, ' ') + row.heading;
    } else {
      out += line(
          [&](std::size_t i) -> const std::string& { return row.cells[i]; });
    }
    out += '\n';
  }
  if (!dropped.empty()) {
    out += absl::StrFormat("%s(not shown for lack of width: %s)\n",
                           std::string(indent_, ' '), Listed(dropped, width));
  }
  return out;
}

}  // namespace countrace::base
