// Every column of every table: its name, unit and meaning, once. Text, JSON,
// JSONL and CSV are views of these lists.
#ifndef COUNTRACE_RMAP_COLUMNS_REPORT_COLUMNS_H_
#define COUNTRACE_RMAP_COLUMNS_REPORT_COLUMNS_H_

#include <string>
#include <vector>

#include "rmap/columns/column.h"
#include "rmap/result/sample_table.h"
#include "rmap/result/tables.h"
#include "rmap/result/tree_table.h"

namespace countrace::rmap {

// "~12,345 +-67": an estimate and half its 95 % interval; "~3 [1, 9]", the
// interval, if that is lopsided; "+-?" if it is unknown. text_tables.cc formats
// numbers.
std::string ScaledText(const ScaledCount& count, Unit unit);

// Amounts of samples: "513 ms" of a clock, "1.2 M" of other events.
std::string SampleAmountText(const std::string& event, double value);
// "~513 ms"; "513 ms" if it is exact; "-": no sample.
std::string SampleEstimateText(const std::string& event,
                               const SampledAmount& amount);
// "~31.2 % [29.1, 33.4]"; "31.2 %" if it is exact; "-": no sample.
std::string SampleShareText(const SampledAmount& amount);

struct BooksRow {
  std::string event;
  Books books;
};

std::vector<Column<ProcessRow>> ProcessColumns(const Report& report);
std::vector<Column<ThreadRow>> ThreadColumns(const Report& report);
// For Report::segments, and with `paths` for Report::segment_paths.
std::vector<Column<SegmentRow>> SegmentColumns(const Report& report,
                                               bool paths);
std::vector<Column<HookRow>> HookColumns(const Report& report);
std::vector<Column<WakerRow>> WakerColumns(const Report& report);
// The same for text: who blocked where, woken by which thread in which segment.
// `all`: those with what --group-by adds.
std::vector<Column<WakerRow>> WakerTextColumns(
    const Report& report, const std::vector<Column<WakerRow>>& all);
std::vector<Column<PreemptorRow>> PreemptorColumns(const Report& report);
// The same for text: who waited, and what had the CPU.
std::vector<Column<PreemptorRow>> PreemptorTextColumns(
    const Report& report, const std::vector<Column<PreemptorRow>>& all);
std::vector<Column<SystemCallRow>> SystemCallColumns(const Report& report);
std::vector<Column<CpuRow>> CpuColumns(const Report& report);
// Requires: report.samples, report.sample_table.
std::vector<Column<SampleRow>> SampleColumns(const Report& report);
// The same for text: amounts first, with their intervals.
std::vector<Column<SampleRow>> SampleTextColumns(const Report& report);
// Requires: report.tree_table.
std::vector<Column<TreeRow>> TreeColumns(const Report& report);
// The same for text: names by their depth, the interval as one column.
std::vector<Column<TreeRow>> TreeTextColumns(const Report& report);
std::vector<Column<BooksRow>> BooksColumns();

// Books of the counted events, in the order of Report::events.
std::vector<BooksRow> BooksRows(const Report& report);

// task-clock and cpu-clock: of a row that has on-CPU time, they are that time.
bool IsOnCpuClock(const std::string& event);
// They, and exec-runtime, count nanoseconds.
Unit UnitOfEvent(const std::string& event);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_COLUMNS_REPORT_COLUMNS_H_
