// The parts of a comparison as cells; text and Markdown lay them out. Names in
// cells are not escaped.
#ifndef COUNTRACE_RMAP_DIFF_DIFF_SECTIONS_H_
#define COUNTRACE_RMAP_DIFF_DIFF_SECTIONS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "rmap/diff/diff_render.h"

namespace countrace::rmap::diff {

struct Section {
  struct Column {
    std::string title;
    bool is_name = false;  // left-aligned, else right-aligned
    bool optional = false;
  };
  struct Group {
    std::string heading;  // may be empty
    std::vector<std::vector<std::string>> rows;
  };
  std::string title;
  std::vector<Column> columns;  // without columns that no row uses
  std::vector<Group> groups;
  std::vector<std::string> footers;
};

// "before: a.ctf, b.ctf", "after: ..."
std::vector<std::string> SideLines(const Diff& diff);
Section TotalsSection(const Diff& diff);
Section RowsSection(const Diff& diff, const DiffRenderOptions& options);
Section BalanceSection(const Diff& diff);
Section ThresholdsSection(const Diff& diff);
std::vector<std::string> NoteLines(const Diff& diff);

}  // namespace countrace::rmap::diff

#endif  // COUNTRACE_RMAP_DIFF_DIFF_SECTIONS_H_
