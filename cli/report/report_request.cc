#include "cli/report/report_request.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "cli/program/progress_bar.h"
#include "cli/program/verb.h"
#include "rmap/where/row_fields.h"
#include "rmap/where/row_filter.h"
#include "rmap/where/row_groups.h"
#include "rmap/where/row_order.h"
#include "rmap/where/selected_sums.h"

namespace countrace::cli {
ReportAnswer AnswerOf(const rmap::Report& report, std::string text) {
  return {.text = std::move(text),
          .has_loss = logformat::StateLoss(report.loss).is_loss,
          .interrupted = report.interrupted,
          .records = report.records};
}

std::vector<std::string> ScaledCounts(const rmap::Report& report) {
  std::vector<std::string> scaled;
  for (const std::string& what : report.not_known) {
    // As logformat/import/listing/csv_counts.cc has it.
    if (what.starts_with("how exact the counts of ")) {
      scaled.push_back("not known: " + base::EscapeName(what));
    }
  }
  return scaled;
}

namespace {

// The value of hooks that the request names, of which `schema` has no field:
// rows are by it. Empty: none. Errors: wrong usage: it names two.
absl::StatusOr<std::string> ValueOf(const ReportRequest& request,
                                    const rmap::Report& schema) {
  const rmap::ReportBy by = request.render.by;
  if (by != rmap::ReportBy::kSegment && by != rmap::ReportBy::kPath &&
      by != rmap::ReportBy::kHook) {
    return std::string();
  }
  std::vector<std::string> names = {request.group_by, request.sort};
  for (const rmap::where::WhereStep& step : request.where.steps) {
    for (const rmap::where::Operand* side : {&step.left, &step.right}) {
      const bool field = side->kind == rmap::where::Operand::Kind::kField;
      if (field) names.push_back(side->text);
    }
  }
  std::string value;
  for (const std::string& name : names) {
    if (!schema.value_names.contains(name) || name == value) continue;
    bool is_field = false;
    for (const auto& table : rmap::where::FieldsOf(schema)) {
      is_field |=
          table.table == by && rmap::where::FindField(table, name).has_value();
    }
    if (is_field) continue;
    if (!value.empty()) {
      return AsUsage(absl::InvalidArgumentError(
          absl::StrFormat("rows are by one value of hooks: %s or %s, not both",
                          base::EscapeName(value), base::EscapeName(name))));
    }
    value = name;
  }
  return value;
}

}  // namespace

absl::StatusOr<ReportSource> SourceOf(const ReportRequest& request,
                                      TimesUse times) {
  return request.hosts.empty()
             ? ReportSource::Open(*request.input, request.trace, times)
             : ReportSource::OpenSeveral(*request.input, request.hosts,
                                         request.pairs);
}

absl::StatusOr<rmap::Report> SchemaOf(const ReportRequest& request,
                                      const ReportSource& source) {
  auto schema = source.Empty(request.gating);
  if (!schema.ok()) return schema.status();
  schema->wanted = request.rows;
  auto value = ValueOf(request, *schema);
  if (!value.ok()) return value.status();
  schema->wanted.value = *std::move(value);
  schema->rows_by = request.rows_by;
  return schema;
}

namespace {

// Errors: INVALID_ARGUMENT: the trace or the table has no such rows.
absl::Status CheckRows(const ReportRequest& request, rmap::ReportBy table,
                       rmap::Report schema) {
  // System calls are sums of segments: these are selected, if they can be.
  const bool of_segments =
      table == rmap::ReportBy::kSystemCall &&
      rmap::where::CheckWhere(request.where, schema, rmap::ReportBy::kSegment)
          .ok();
  const rmap::ReportBy rows = of_segments ? rmap::ReportBy::kSegment : table;
  if (!request.sort.empty()) {
    const absl::Status order =
        rmap::where::CheckOrder(request.sort, schema, table);
    if (!order.ok()) return order;
  }
  // The columns of the rows that are added up.
  schema.rows_by.clear();
  if (!request.group_by.empty()) {
    const absl::Status groups =
        rmap::where::CheckGroups(request.group_by, schema, table);
    if (!groups.ok()) return groups;
  }
  const absl::Status owners = rmap::where::CheckOwners(request.owners(), rows);
  if (!owners.ok()) return owners;
  return rmap::where::CheckWhere(request.where, schema, rows);
}

}  // namespace

absl::StatusOr<RequestedRows> ReadRows(const ReportRequest& request,
                                       rmap::ReportBy table,
                                       ReportSource& source) {
  auto schema = SchemaOf(request, source);
  if (!schema.ok()) return schema.status();
  const rmap::WantedRows wanted = schema->wanted;
  const absl::Status fits = CheckRows(request, table, *std::move(schema));
  if (!fits.ok()) return AsUsage(fits);
  rmap::TableRange range;
  if (request.range.given()) {
    const auto parsed = ParseRange(request.range, source.Extent());
    if (!parsed.ok()) {
      return AsUsage(absl::InvalidArgumentError(parsed.status().message()));
    }
    range = {parsed->from_ns, parsed->to_ns};
  }
  ProgressBar progress("reading " + request.trace,
                       request.input->show_progress());
  auto report = source.Read({.gating = request.gating,
                             .rows = wanted,
                             .range = range,
                             .progress = progress.Callback(),
                             .keep_interrupted = true});
  progress.Clear();
  if (!report.ok()) return report.status();
  RequestedRows rows = {.report = *std::move(report), .selection = {}};
  if (!request.sort.empty()) rmap::where::SortRows(request.sort, rows.report);
  if (request.selects()) {
    auto selected =
        rmap::where::SelectRows(request.where, rows.report, request.owners());
    if (!selected.ok()) return selected.status();
    rows.selection = *std::move(selected);
    rmap::where::SumSystemCalls(rows.report, *rows.selection);
  }
  if (!request.rows_by.empty()) {
    rmap::where::SumRows(request.rows_by, table, rows.report,
                         rows.selection ? &*rows.selection : nullptr);
  }
  // The order of the sums; other rows are in theirs.
  if (!request.sort.empty()) rmap::where::SortRows(request.sort, rows.report);
  return rows;
}

}  // namespace countrace::cli
