#include "viewer/server/api/reports_api.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "logformat/read/trace_reader.h"
#include "rmap/diff/compare.h"
#include "rmap/diff/diff_render.h"
#include "rmap/diff/diff_sections.h"
#include "rmap/pipeline.h"
#include "rmap/report/report_names.h"
#include "rmap/report/report_views.h"
#include "rmap/where/row_filter.h"
#include "rmap/where/where_expression.h"
#include "viewer/server/tables/call_tree.h"
#include "viewer/server/tables/trace_report.h"
#include "viewer/server/wire/api_answer.h"
#include "viewer/server/wire/api_bounds.h"

namespace countrace::viewer {
namespace {

using Json = nlohmann::json;

// A page that selects another range has no use for the last answer.
std::atomic<std::uint64_t> newest_comparison{0}, newest_tree{0}, newest_csv{0};

HttpResponse Csv(const TimelineIndex& index, const TraceEvents& events,
                 ApiQuery& query) {
  const auto range = ReportRange(index, query, "from", "to");
  if (!range) return Refuse(400, query.error());
  const std::string name(query.Word("table"));
  const auto table = rmap::ReportTables().find(name);
  if (table == rmap::ReportTables().end()) {
    return Refuse(400,
                  "Parameter table: expected a table of `report --by`: "
                  "process, thread, segment, path, cpu, hook, waker, preemptor "
                  "or syscall");
  }
  std::string text;
  {
    // One that is being made goes on.
    const std::uint64_t own = ++newest_csv;
    const auto turn = TurnToReport([own] { return newest_csv == own; });
    if (!turn.owns_lock()) {
      return Refuse(409, "A later request took the place of this one");
    }
    const auto report =
        ReportOf(events.trace_path(), *range,
                 {.preemptors = table->second == rmap::ReportBy::kPreemptor});
    if (!report.ok()) {
      return Refuse(500, std::string(report.status().message()));
    }
    text = rmap::RenderCsv(*report, {.by = table->second});
  }
  malloc_trim(0);
  std::string file = "countrace-" + name;
  if (query.Has("from")) {
    absl::StrAppendFormat(&file, "-%s-%s", query.Word("from"),
                          query.Word("to"));
  }
  return {
      .status = 200,
      .content_type = "text/csv; charset=utf-8",
      .body = std::move(text),
      .headers = {{"Content-Disposition",
                   absl::StrFormat("attachment; filename=\"%s.csv\"", file)}}};
}

// What all rows have together, without the calls inside theirs.
Json OwnSums(const std::vector<rmap::SegmentRow>& rows, std::size_t events) {
  std::uint64_t calls = 0, wall_ns = 0;
  std::optional<std::uint64_t> on_cpu_ns;
  std::vector<std::optional<std::uint64_t>> counts(events);
  for (const rmap::SegmentRow& row : rows) {
    calls += row.calls;
    wall_ns += row.wall.excl;
    if (row.on_cpu) on_cpu_ns = on_cpu_ns.value_or(0) + row.on_cpu->excl;
    for (std::size_t i = 0; i < row.counts.size() && i < events; ++i) {
      if (row.counts[i])
        counts[i] = counts[i].value_or(0) + row.counts[i]->excl;
    }
  }
  const auto number = [](const std::optional<std::uint64_t>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  Json json = {{"calls", calls},
               {"wall_ns", {{"excl", wall_ns}}},
               {"on_cpu_ns", {{"excl", number(on_cpu_ns)}}},
               {"counts", Json::array()}};
  for (const auto& count : counts) json["counts"].push_back(number(count));
  return json;
}

// Rows of the report as a tree, call paths or segments, which are one deep.
struct TreeTable {
  rmap::ReportBy by;
  std::vector<rmap::SegmentRow> rmap::Report::*rows;
  const char* json;  // its name in the report's JSON
};
constexpr TreeTable kPaths = {rmap::ReportBy::kPath,
                              &rmap::Report::segment_paths, "segment_paths"};
constexpr TreeTable kSegments = {rmap::ReportBy::kSegment,
                                 &rmap::Report::segments, "segments"};

// Erases the rows that `where` is not true of; returns how many.
absl::StatusOr<std::size_t> KeepSelected(rmap::Report& report,
                                         const TreeTable& table,
                                         const std::string& where) {
  const auto parsed = rmap::where::ParseWhere(where);
  if (!parsed.ok()) return parsed.status();
  if (const absl::Status checked =
          rmap::where::CheckWhere(*parsed, report, table.by);
      !checked.ok()) {
    return checked;
  }
  const auto selected = rmap::where::SelectRows(*parsed, report);
  if (!selected.ok()) return selected.status();
  std::vector<rmap::SegmentRow>& rows = report.*table.rows;
  const std::size_t all = rows.size();
  rows = rmap::SelectedRows(rows, &*selected, table.by);
  return all - rows.size();
}

HttpResponse CallTree(const TimelineIndex& index, const TraceEvents& events,
                      ApiQuery& query) {
  const auto range = ReportRange(index, query, "from", "to");
  if (!range) return Refuse(400, query.error());
  const auto offset = query.Number("offset", 0);
  if (!offset) return Refuse(400, query.error());
  const auto limit = query.Number("limit", kMaxTreeRows, kMaxTreeRows);
  if (!limit) return Refuse(400, query.error());
  const std::string_view by = query.Word("by");
  if (query.Has("by") && by != "path" && by != "segment") {
    return Refuse(400, "Parameter by: expected path or segment");
  }
  const TreeTable& table = by == "segment" ? kSegments : kPaths;
  const std::uint64_t own = ++newest_tree;
  const auto is_wanted = [own] { return newest_tree == own; };
  Json answer;
  {
    const auto turn = TurnToReport(is_wanted);
    auto report = turn.owns_lock()
                      ? ReportOf(events.trace_path(), *range, {},
                                 [&](const auto&) { return is_wanted(); })
                      : absl::CancelledError();
    if (absl::IsCancelled(report.status())) {
      return Refuse(409, "A later request took the place of this one");
    }
    if (!report.ok()) {
      return Refuse(500, std::string(report.status().message()));
    }
    NumberAsIndex(index, *report);
    if (query.Has("where")) {
      const std::optional<std::string> where = query.Text("where");
      if (!where) return Refuse(400, query.error());
      const auto unselected = KeepSelected(*report, table, *where);
      if (!unselected.ok()) return Refuse(unselected.status());
      answer["unselected"] = *unselected;
    }
    std::vector<rmap::SegmentRow>& rows = (*report).*table.rows;
    if (by == "segment") {
      for (rmap::SegmentRow& row : rows) row.path = {row.segment};
    }
    answer["total"] = rows.size();
    answer["sums"] = OwnSums(rows, report->events.size());
    const std::vector<TreePlace> order = TreeOrder(rows);
    const std::size_t begin = std::min<std::uint64_t>(*offset, order.size());
    const auto page = std::span(order).subspan(
        begin, std::min<std::uint64_t>(*limit, order.size() - begin));
    std::vector<rmap::SegmentRow> shown;
    for (const TreePlace& place : page) shown.push_back(rows[place.row]);
    rows = std::move(shown);
    answer["rows"] =
        Json::parse(rmap::RenderJson(*report, {.by = table.by}))[table.json];
    for (std::size_t i = 0; i < page.size(); ++i) {
      answer["rows"][i]["process"] =
          static_cast<std::uint32_t>(rows[i].process);
      answer["rows"][i]["has_callees"] = page[i].has_callees;
      if (by == "segment") {
        answer["rows"][i]["path"] = {base::EscapeName(rows[i].segment)};
      }
    }
  }
  malloc_trim(0);
  return AnswerJson(answer);
}

Json SectionJson(const rmap::diff::Section& section) {
  Json columns = Json::array(), groups = Json::array();
  for (const auto& column : section.columns) {
    columns.push_back(
        {{"title", base::EscapeName(column.title)}, {"name", column.is_name}});
  }
  for (const auto& group : section.groups) {
    Json rows = Json::array();
    for (const auto& row : group.rows) {
      Json cells = Json::array();
      for (const std::string& cell : row) {
        cells.push_back(base::EscapeName(cell));
      }
      rows.push_back(std::move(cells));
    }
    groups.push_back({{"heading", base::EscapeName(group.heading)},
                      {"rows", std::move(rows)}});
  }
  Json footers = Json::array();
  for (const std::string& footer : section.footers) {
    footers.push_back(base::EscapeName(footer));
  }
  return {{"columns", std::move(columns)},
          {"groups", std::move(groups)},
          {"footers", std::move(footers)}};
}

// Removes the rows without a difference, then all but a page of the others.
// Returns how many differ.
std::size_t KeepPage(rmap::diff::Diff& diff, std::uint64_t offset,
                     std::uint64_t limit) {
  std::erase_if(diff.rows, [](const auto& row) { return !row.Differs(); });
  const std::size_t total = diff.rows.size();
  const std::size_t begin = std::min<std::uint64_t>(offset, total);
  const std::size_t end = begin + std::min<std::uint64_t>(limit, total - begin);
  diff.rows.resize(end);
  diff.rows.erase(diff.rows.begin(),
                  diff.rows.begin() + static_cast<std::ptrdiff_t>(begin));
  return total;
}

// A trace, or a range of it.
struct Side {
  std::string trace_path;
  rmap::TableRange range;
};

HttpResponse CompareSides(const Side& before, const Side& after,
                          ApiQuery& query) {
  const auto offset = query.Number("offset", 0);
  if (!offset) return Refuse(400, query.error());
  const auto limit = query.Number("limit", kMaxComparedRows, kMaxComparedRows);
  if (!limit) return Refuse(400, query.error());
  const std::string_view format = query.Word("format");
  if (query.Has("format") && format != "cells" && format != "json") {
    return Refuse(400, "Parameter format: expected cells or json");
  }
  Json answer;
  {
    const std::uint64_t own = ++newest_comparison;
    const auto is_wanted = [own] { return newest_comparison == own; };
    const auto turn = TurnToReport(is_wanted);
    std::vector<rmap::Report> sides[2];
    for (const int side : {0, 1}) {
      const auto& [trace_path, range] = side == 0 ? before : after;
      auto report = turn.owns_lock()
                        ? ReportOf(trace_path, range, {},
                                   [&](const auto&) { return is_wanted(); })
                        : absl::CancelledError();
      if (absl::IsCancelled(report.status())) {
        return Refuse(409, "A later comparison took the place of this one");
      }
      if (!report.ok()) {
        return Refuse(500, std::string(report.status().message()));
      }
      sides[side].push_back(*std::move(report));
    }
    auto diff = rmap::diff::Compare(sides[0], sides[1], {});
    if (!diff.ok()) return Refuse(500, std::string(diff.status().message()));
    const std::size_t rows = diff->rows.size();
    const std::size_t total = KeepPage(*diff, *offset, *limit);
    if (format == "json") {
      answer = Json::parse(rmap::diff::RenderDiffJson(*diff, {}));
    } else {
      answer["totals"] = SectionJson(rmap::diff::TotalsSection(*diff));
      answer["rows"] =
          SectionJson(rmap::diff::RowsSection(*diff, {.max_rows = 0}));
      answer["notes"] = Json::array();
      for (const std::string& note : rmap::diff::NoteLines(*diff)) {
        answer["notes"].push_back(base::EscapeName(note));
      }
    }
    answer["rows_total"] = total;
    answer["rows_equal"] = rows - total;
  }
  malloc_trim(0);
  return AnswerJson(answer);
}

HttpResponse Compare(const TimelineIndex& index, const TraceEvents& events,
                     ApiQuery& query) {
  const auto before = ReportRange(index, query, "before_from", "before_to");
  if (!before) return Refuse(400, query.error());
  const auto after = ReportRange(index, query, "from", "to");
  if (!after) return Refuse(400, query.error());
  return CompareSides({events.trace_path(), *before},
                      {events.trace_path(), *after}, query);
}

}  // namespace

HttpResponse AnswerDiff(const std::string& before_path,
                        const std::string& after_path, ApiQuery& query) {
  return CompareSides({before_path, {}}, {after_path, {}}, query);
}

std::optional<HttpResponse> AnswerReports(const TimelineIndex& index,
                                          const TraceEvents* events,
                                          std::string_view name,
                                          ApiQuery& query) {
  if (name != "csv" && name != "compare" && name != "calltree") {
    return std::nullopt;
  }
  if (events == nullptr) return Refuse(404, "No trace beside the index");
  if (name == "calltree") return CallTree(index, *events, query);
  return name == "csv" ? Csv(index, *events, query)
                       : Compare(index, *events, query);
}

}  // namespace countrace::viewer
