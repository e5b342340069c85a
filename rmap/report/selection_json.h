// The result of `--where`, as the object "where" of `countrace.report/1` and
// `countrace.metrics/1`.
#ifndef COUNTRACE_RMAP_REPORT_SELECTION_JSON_H_
#define COUNTRACE_RMAP_REPORT_SELECTION_JSON_H_

#include <nlohmann/json.hpp>

#include "rmap/columns/row_selection.h"

namespace countrace::rmap::where {

// {"expression": ..., "tables": {"processes": {"rows", "selected", "shares":
// {NAME: {"selected", "total", "of": "rows" or "books"}}}}}; for a table that
// is left out {"missing": [fields]}.
nlohmann::ordered_json SelectionObject(const RowSelection& selection);

}  // namespace countrace::rmap::where

#endif  // COUNTRACE_RMAP_REPORT_SELECTION_JSON_H_
