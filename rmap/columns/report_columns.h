// Every column of every table: its name, unit and meaning, once. Text, JSON,
// JSONL and CSV are views of these lists.
#ifndef COUNTRACE_RMAP_COLUMNS_REPORT_COLUMNS_H_
#define COUNTRACE_RMAP_COLUMNS_REPORT_COLUMNS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "rmap/report/report_render.h"
#include "rmap/tables/tables.h"

namespace countrace::rmap {

enum class Unit : std::uint8_t {
  kNone,  // a name
  kId,    // printed without thousands separators
  kCount,
  kNanoseconds,
  kQuality
};

// monostate: the trace cannot say.
using Cell = std::variant<std::monostate, bool, std::uint64_t, std::int64_t,
                          double, std::string, std::vector<std::string>>;

template <typename Row>
struct Column {
  // JSON names from the row's object inwards; joined by '.' in CSV. An absent
  // cell is null; a group all of whose cells are absent is one null; absent
  // cells of `counts` are left out.
  std::vector<std::string> name;
  std::string title;  // in text tables; empty: not shown there
  Unit unit = Unit::kNone;
  std::string meaning;
  std::function<Cell(const Row&)> value;
};

// "~12,345 +-67": an estimate and half its 95 % interval; "+-?" if that is not
// known. report_text.cc formats numbers.
std::string ScaledText(const ScaledCount& count);

struct BooksRow {
  std::string event;
  Books books;
};

std::vector<Column<ProcessRow>> ProcessColumns(const Report& report);
std::vector<Column<ThreadRow>> ThreadColumns(const Report& report);
// For Report::segments, and with `paths` for Report::segment_paths.
std::vector<Column<SegmentRow>> SegmentColumns(const Report& report,
                                               bool paths);
std::vector<Column<HookRow>> HookColumns();
std::vector<Column<WakerRow>> WakerColumns();
// The same as people read them: who blocked where, woken by whom in what.
std::vector<Column<WakerRow>> WakerTextColumns();
std::vector<Column<CpuRow>> CpuColumns(const Report& report);
std::vector<Column<BooksRow>> BooksColumns();

// Books of the events that were counted, in the order of Report::events.
std::vector<BooksRow> BooksRows(const Report& report);

// task-clock and cpu-clock count nanoseconds.
Unit UnitOfEvent(const std::string& event);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_COLUMNS_REPORT_COLUMNS_H_
