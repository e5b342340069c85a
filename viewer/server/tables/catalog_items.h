// Items of the catalog as JSON (API.md, "processes, threads").
#ifndef COUNTRACE_VIEWER_SERVER_TABLES_CATALOG_ITEMS_H_
#define COUNTRACE_VIEWER_SERVER_TABLES_CATALOG_ITEMS_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "viewer/index/file/timeline_index.h"

namespace countrace::viewer {

const char* RowKindName(RowKind kind);  // "cpu", ...
// False: a row that only sums are read from.
bool IsDrawn(RowKind kind);

// Null: a hole in the numbering. `hooked`: of HookedProcesses(). Requires:
// the number is one of the index.
nlohmann::json ProcessItemJson(const TimelineIndex& index,
                               std::uint32_t process,
                               const std::vector<bool>& hooked);
nlohmann::json ThreadItemJson(const TimelineIndex& index, std::uint32_t thread);
nlohmann::json RowItemJson(const TimelineIndex& index, std::uint32_t row);

// Rows of levels of what is counted, the longest up first.
std::vector<std::uint32_t> LevelRows(const TimelineIndex& index);

// The processes by their CPU time in the whole trace, the heaviest first.
std::vector<std::uint32_t> ProcessesByWeight(const TimelineIndex& index);

// What a page needs to colour all processes before it has their names:
// `names`, the `count` heaviest (those of one name together), and `of`, for
// each process a letter: 'a' has the first of these names, '.' has none.
nlohmann::json HuesJson(const TimelineIndex& index, std::size_t count);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_TABLES_CATALOG_ITEMS_H_
