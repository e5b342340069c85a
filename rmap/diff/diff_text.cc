#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text/name_escape.h"
#include "base/text/text_table.h"
#include "rmap/diff/diff_sections.h"

namespace countrace::rmap::diff {

namespace {

using Align = base::TextTable::Align;

void AppendWrapped(const std::string& text, std::size_t most,
                   std::string& out) {
  constexpr std::size_t kProseWidth = 100;  // also in a file
  const std::size_t width = std::min(most, kProseWidth);
  std::string line = "  ";
  std::size_t begin = 0;
  while (begin < text.size()) {
    const auto end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (line.size() > 2 &&
        base::DisplayColumns(line) + 1 + base::DisplayColumns(word) > width) {
      out += line + "\n";
      line = "    ";
    }
    if (line.find_first_not_of(' ') != std::string::npos) line += ' ';
    line += word;
    begin = end + 1;
  }
  out += line + "\n";
}

void AppendSection(const Section& section, const DiffRenderOptions& options,
                   std::string& out) {
  out += options.color ? "\n\x1b[1m" + section.title + "\x1b[0m\n"
                       : "\n" + section.title + "\n";
  base::TextTable table;
  for (const Section::Column& column : section.columns) {
    table.AddColumn(base::EscapeName(column.title),
                    column.is_name ? Align::kLeft : Align::kRight,
                    column.optional);
  }
  for (const Section::Group& group : section.groups) {
    if (!group.heading.empty())
      table.AddHeading(base::EscapeName(group.heading));
    for (std::vector<std::string> row : group.rows) {
      for (std::string& cell : row) cell = base::EscapeName(cell);
      table.AddRow(std::move(row));
    }
  }
  if (!section.columns.empty()) {
    out += table.Render(options.width, options.color);
  }
  for (const std::string& footer : section.footers) {
    AppendWrapped("(" + base::EscapeName(footer) + ")", options.width, out);
  }
}

}  // namespace

std::string RenderDiffText(const Diff& diff, const DiffRenderOptions& options) {
  std::string out;
  for (const std::string& line : diff.explanations) {
    out += base::EscapeName(line) + "\n";
  }
  AppendSection(TotalsSection(diff), options, out);
  AppendSection(RowsSection(diff, options), options, out);
  AppendSection(BalanceSection(diff), options, out);
  if (!diff.thresholds.empty()) {
    AppendSection(ThresholdsSection(diff), options, out);
  }
  out += "\n";
  for (const std::string& line : SideLines(diff)) {
    AppendWrapped(base::EscapeName(line), options.width, out);
  }
  for (const std::string& note : NoteLines(diff)) {
    AppendWrapped(base::EscapeName(note), options.width, out);
  }
  return out;
}

}  // namespace countrace::rmap::diff
