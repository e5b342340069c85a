// The result of `--where`, as text: the rows of each table shown, and their
// part of the total.
#ifndef COUNTRACE_RMAP_REPORT_SELECTION_TEXT_H_
#define COUNTRACE_RMAP_REPORT_SELECTION_TEXT_H_

#include <string>
#include <vector>

#include "rmap/columns/row_selection.h"
#include "rmap/report/report_render.h"

namespace countrace::rmap::where {

// `wanted`: the tables of the output; the text names those whose rows lack a
// field. Uses width and color of `options`.
std::string SelectionText(const RowSelection& selection,
                          const std::vector<ReportBy>& wanted,
                          const RenderOptions& options);

}  // namespace countrace::rmap::where

#endif  // COUNTRACE_RMAP_REPORT_SELECTION_TEXT_H_
