// What a report says about its trace besides rows: the rows of the table
// `meta`, declared once for both directions.
#ifndef COUNTRACE_RMAP_EXPORT_REPORT_FACTS_H_
#define COUNTRACE_RMAP_EXPORT_REPORT_FACTS_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "rmap/columns/column.h"
#include "rmap/result/tables.h"

namespace countrace::rmap {

// Those that every report has once.
const std::vector<Column<Report>>& ReportFacts();

// The rows of `meta`: add(key, value). A list has a row for each of its items.
void ForEachFact(
    const Report& report,
    const std::function<void(const std::string&, const std::string&)>& add);

// The way back, row by row, in the same order; another key has no effect.
// Returns false if `value` is no value of `key`.
bool SetFact(const std::string& key, const std::string& value, Report& report);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_EXPORT_REPORT_FACTS_H_
