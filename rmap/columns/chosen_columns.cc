#include "rmap/columns/chosen_columns.h"

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/text/name_escape.h"
#include "base/text/nearest_name.h"

namespace countrace::rmap {

absl::Status CheckColumns(const Report& report,
                          const std::vector<ReportBy>& tables,
                          const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    bool found = false;
    std::vector<std::string> known;
    VisitTables(report, [&](const auto& table, const auto& columns,
                            const auto&) {
      if (std::find(tables.begin(), tables.end(), table.by) == tables.end()) {
        return;
      }
      for (const auto& column : columns) {
        found |= IsNamed(column, name);
        // One of more than a hundred is no help.
        if (column.name.front() == "errors") continue;
        known.push_back(FullName(column));
      }
    });
    if (found) continue;
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    const std::string near(base::NearestName(name, known));
    return absl::InvalidArgumentError(absl::StrFormat(
        "--columns: there is no column `%s`%s; the columns are %s",
        base::EscapeName(name),
        near.empty() ? "" : "; did you mean `" + base::EscapeName(near) + "`?",
        base::EscapeName(absl::StrJoin(known, ", "))));
  }
  return absl::OkStatus();
}

}  // namespace countrace::rmap
