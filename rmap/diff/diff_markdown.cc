#include <string>
#include <string_view>

#include "base/text/name_escape.h"
#include "rmap/diff/diff_sections.h"

namespace countrace::rmap::diff {

namespace {

// Keeps a name from becoming markup, a link, HTML or a cell.
std::string Escape(const std::string& text) {
  std::string out;
  for (const char c : base::EscapeName(text)) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '@') {
      out += "&#64;";  // would mention a user on code hosts
    } else {
      if (std::string_view("\\`*_[]|#~").find(c) != std::string_view::npos) {
        out += '\\';
      }
      out += c;
    }
  }
  return out;
}

void AppendSection(const Section& section, std::string& out) {
  out += "\n### " + Escape(section.title) + "\n\n";
  if (!section.columns.empty()) {
    const bool headed =
        !section.groups.empty() && !section.groups.front().heading.empty();
    std::string titles = "|", rule = "|";
    if (headed) {
      titles += " call path |";
      rule += " --- |";
    }
    for (const Section::Column& column : section.columns) {
      titles += " " + Escape(column.title) + " |";
      rule += column.is_name ? " --- |" : " ---: |";
    }
    out += titles + "\n" + rule + "\n";
    for (const Section::Group& group : section.groups) {
      bool first = true;
      for (const auto& row : group.rows) {
        out += "|";
        // Printed once: the rows below have the same path.
        if (headed) out += " " + (first ? Escape(group.heading) : "") + " |";
        for (const std::string& cell : row) out += " " + Escape(cell) + " |";
        out += "\n";
        first = false;
      }
    }
  }
  for (const std::string& footer : section.footers) {
    out += "\n" + Escape(footer) + "\n";
  }
}

}  // namespace

std::string RenderDiffMarkdown(const Diff& diff,
                               const DiffRenderOptions& options) {
  std::string out = diff.HasRegression() ? "## countrace diff: regression\n\n"
                                         : "## countrace diff\n\n";
  for (const std::string& line : diff.explanations) {
    out += "- " + Escape(line) + "\n";
  }
  if (!diff.thresholds.empty()) AppendSection(ThresholdsSection(diff), out);
  AppendSection(TotalsSection(diff), out);
  AppendSection(RowsSection(diff, options), out);
  AppendSection(BalanceSection(diff), out);
  out += "\n";
  for (const std::string& line : SideLines(diff)) {
    out += "- " + Escape(line) + "\n";
  }
  for (const std::string& note : NoteLines(diff)) {
    out += "- " + Escape(note) + "\n";
  }
  return out;
}

}  // namespace countrace::rmap::diff
