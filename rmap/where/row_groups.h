// `--group-by`: rows of a table with the same value of a field become one.
//
// Counts and times add up, limits too; the quality is the worst; the longest of
// all is the longest. What the rows differ in is absent, and so are
// percentiles.
//
//   FIELD                what distinguishes rows
//   comm, user, cgroup,  whose they are, with the rest of what the table
//   process, thread      distinguishes: segment, path, hook, what woke them
//   a value of hooks     it, with segment, path or hook (WantedRows::value)
//   another              its value alone
//
// Thread: one.
#ifndef COUNTRACE_RMAP_WHERE_ROW_GROUPS_H_
#define COUNTRACE_RMAP_WHERE_ROW_GROUPS_H_

#include <string>

#include "absl/status/status.h"
#include "rmap/columns/row_selection.h"
#include "rmap/result/tables.h"

namespace countrace::rmap::where {

// `table`: the only table of the output; kDefault: all of them.
// Errors: kInvalidArgument: its rows have no such names; names those that have.
absl::Status CheckGroups(const std::string& field, const Report& report,
                         ReportBy table);

// Replaces rows by sums of the selected ones, or of all if `selection` is null:
// those of `table`, or of each table whose rows have the field. No effect if
// each row has one value of its own.
// Requires: CheckGroups().ok(), with the same table.
void SumRows(const std::string& field, ReportBy table, Report& report,
             RowSelection* selection);

}  // namespace countrace::rmap::where

#endif  // COUNTRACE_RMAP_WHERE_ROW_GROUPS_H_
