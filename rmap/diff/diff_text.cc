#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "rmap/diff/diff_sections.h"
#include "rmap/report/name_escape.h"
#include "rmap/report/text_table.h"

namespace countrace::rmap::diff {

namespace {

using Align = TextTable::Align;

void AppendWrapped(const std::string& text, std::size_t width,
                   std::string& out) {
  std::string line = "  ";
  std::size_t begin = 0;
  while (begin < text.size()) {
    const auto end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (line.size() > 2 &&
        DisplayColumns(line) + 1 + DisplayColumns(word) > width) {
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
  TextTable table;
  for (const Section::Column& column : section.columns) {
    table.AddColumn(EscapeName(column.title),
                    column.is_name ? Align::kLeft : Align::kRight,
                    column.optional);
  }
  for (const Section::Group& group : section.groups) {
    if (!group.heading.empty()) table.AddHeading(EscapeName(group.heading));
    for (std::vector<std::string> row : group.rows) {
      for (std::string& cell : row) cell = EscapeName(cell);
      table.AddRow(std::move(row));
    }
  }
  if (!section.columns.empty()) {
    out += table.Render(options.width, options.color);
  }
  for (const std::string& footer : section.footers) {
    AppendWrapped("(" + EscapeName(footer) + ")", options.width, out);
  }
}

}  // namespace

std::string RenderDiffText(const Diff& diff, const DiffRenderOptions& options) {
  std::string out;
  for (const std::string& line : diff.explanations) {
    out += EscapeName(line) + "\n";
  }
  AppendSection(TotalsSection(diff), options, out);
  AppendSection(RowsSection(diff, options), options, out);
  AppendSection(BalanceSection(diff), options, out);
  if (!diff.thresholds.empty()) {
    AppendSection(ThresholdsSection(diff), options, out);
  }
  out += "\n";
  for (const std::string& line : SideLines(diff)) {
    AppendWrapped(EscapeName(line), options.width, out);
  }
  for (const std::string& note : NoteLines(diff)) {
    AppendWrapped(EscapeName(note), options.width, out);
  }
  return out;
}

}  // namespace countrace::rmap::diff
