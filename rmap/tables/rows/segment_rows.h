// Rows of segments and of call paths.
#ifndef COUNTRACE_RMAP_TABLES_ROWS_SEGMENT_ROWS_H_
#define COUNTRACE_RMAP_TABLES_ROWS_SEGMENT_ROWS_H_

#include <vector>

#include "rmap/result/tables.h"
#include "rmap/tables/bounds/unseen_bounds.h"
#include "rmap/tables/input/table_input.h"

namespace countrace::rmap {

// Decides which records supply each event of segments. `processes`: from
// BuildProcesses().
void ChooseSegmentSources(const std::vector<ProcessRow>& processes,
                          TableInput& input, Report& report);
// Takes the tree of call paths apart, process by process, and adds the rows of
// files. Requires: ChooseSegmentSources().
void BuildSegments(const TableInput& input, const UnseenBounds& bounds,
                   Report& report);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_ROWS_SEGMENT_ROWS_H_
