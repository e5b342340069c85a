#include "rmap/report/selection_json.h"

#include <utility>

#include "rmap/columns/report_tables.h"

namespace countrace::rmap::where {

using Json = nlohmann::ordered_json;

Json SelectionObject(const RowSelection& selection) {
  Json tables = Json::object();
  for (const auto& [table, selected] : selection.tables) {
    Json& object = tables[TableName(table)];
    if (!selected.applies()) {
      object = {{"missing", selected.missing}};
      continue;
    }
    Json shares = Json::object();
    for (const SelectedShare& share : selected.shares) {
      Json& entry = shares[share.name];
      entry = {{"selected", share.selected},
               {"total", share.total},
               {"of", share.of_books ? "books" : "rows"}};
      if (share.scaled) entry["quality"] = "scaled";
    }
    object = {{"rows", selected.rows.size()},
              {"selected", selected.selected},
              {"shares", std::move(shares)}};
  }
  return {{"expression", selection.expression}, {"tables", std::move(tables)}};
}

}  // namespace countrace::rmap::where
