#include "rmap/export/export_rows.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "rmap/columns/report_tables.h"
#include "rmap/tables/input/report_events.h"
#include "rmap/where/row_filter.h"

namespace countrace::rmap {

absl::Status CheckRows(const ExportRows& rows, const std::string& table,
                       const logformat::TraceInfo& info) {
  std::optional<ReportBy> by;
  ForEachTable([&](const auto& one) {
    if (table == one.name) by = one.by;
  });
  if (!by) {
    if (!rows.where.steps.empty()) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "--where is for tables of `report`; `countrace query` chooses rows "
          "of %s",
          table));
    }
    const bool owned = table != "books" && table != "frames" && table != "meta";
    if (owned || !rows.owners.given()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s: rows of %s have no owner", rows.owners.Text(), table));
  }
  if (!where::CheckOwners(rows.owners, *by).ok()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s: rows of %s have no such owner", rows.owners.Text(), table));
  }
  if (rows.where.steps.empty()) return absl::OkStatus();
  auto schema = EmptyReport(info, {});
  if (!schema.ok()) return schema.status();
  schema->wanted.preemptors = schema->wanted.samples = true;
  return where::CheckWhere(rows.where, *schema, *by);
}

absl::StatusOr<StreamObserver::Threads> ThreadsOf(
    const ExportRows& rows, logformat::TraceReader& reader,
    const logformat::ProgressCallback& progress) {
  if (!rows.owners.given()) return StreamObserver::Threads();
  // Threads have the same numbers in each pass that reads in the same order:
  // that of an observer which takes no runs.
  TimelineObserver in_order;
  const auto report = Reconstruct(
      reader,
      {.observer = &in_order, .range = rows.range, .progress = progress});
  if (!report.ok()) return report.status();
  const where::OwnerFilter filter(rows.owners, *report);
  std::vector<bool> threads;
  for (const ThreadRow& row : report->threads) {
    if (!filter.Has(row)) continue;
    const auto number = static_cast<std::size_t>(row.index);
    if (number >= threads.size()) threads.resize(number + 1);
    threads[number] = true;
  }
  return threads;
}

}  // namespace countrace::rmap
