#include "cli/report/report_data.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "cli/report/sample_groups.h"
#include "cli/report/sample_input.h"
#include "cli/report/sample_rendering.h"
#include "cli/report/sample_rows.h"
#include "cli/report/sample_text.h"
#include "rmap/result/samples.h"
#include "rmap/samples/rows/data_rows.h"
#include "rmap/samples/sums/event_books.h"

namespace countrace::cli {
namespace {

using rmap::DataDetail;
using rmap::DataRow;

bool HasData(const rmap::Samples& samples, logformat::SampleData least) {
  return std::any_of(
      samples.events.begin(), samples.events.end(),
      [&](const rmap::SampledEvent& event) { return event.data >= least; });
}

absl::Status CheckData(const rmap::Samples& samples, DataDetail detail) {
  if (!HasData(samples, logformat::SampleData::kAddress)) {
    return absl::FailedPreconditionError(
        "the samples have no data addresses: `countrace record --data --sample "
        "every=100:page-faults` stores them, and `perf record -d`");
  }
  if (detail == DataDetail::kSource &&
      !HasData(samples, logformat::SampleData::kSource)) {
    return absl::FailedPreconditionError(
        "no sampled event says where its data was: events of a PMU do, for "
        "example cpu/mem-loads/; --by data shows what the addresses belong "
        "to");
  }
  return absl::OkStatus();
}

// What a table is by: its columns, and their cells.
struct Place {
  std::vector<std::string> columns;
  std::vector<Cell> (*cells)(const DataRow& row);
};

Place PlaceOf(DataDetail detail) {
  if (detail == DataDetail::kSource) {
    return {{"access", "memory", "snoop", "tlb", "locked"},
            [](const DataRow& row) -> std::vector<Cell> {
              const rmap::DataSource& source = row.source;
              return {source.access, source.memory, source.snoop, source.tlb,
                      source.locked};
            }};
  }
  if (detail == DataDetail::kObject) {
    return {{"data", "of", "dso"}, [](const DataRow& row) -> std::vector<Cell> {
              return {row.data, row.of, row.dso};
            }};
  }
  return {{"data", "of", "dso", "address"},
          [](const DataRow& row) -> std::vector<Cell> {
            return {row.data, row.of, row.dso,
                    absl::StrFormat("0x%x", row.address)};
          }};
}

SampleRows RowsOf(const rmap::Samples& samples, const rmap::DataTable& table,
                  DataDetail detail, const SampleGroups& groups) {
  const bool weights =
      std::any_of(table.rows.begin(), table.rows.end(),
                  [](const DataRow& row) { return row.weights > 0; });
  const Place place = PlaceOf(detail);
  SampleParts<std::string> columns = {
      .text_amounts = {"samples", "self", "self of all"},
      .text_place = place.columns,
      .machine_amounts = {"self_samples", "self", "self_lo", "self_hi",
                          "weights"},
      .machine_place = place.columns};
  if (weights) columns.text_amounts.emplace_back("mean weight");
  SampleRowList list(samples, groups, ContextsOf(table.rows), columns);
  for (const DataRow& row : table.rows) {
    const rmap::SampledAmount& amount = row.amount;
    const std::string& event = samples.events[row.event].name;
    const std::vector<Cell> named = place.cells(row);
    SampleParts<Cell> cells = {
        .text_amounts = {amount.hits, SampleEstimateText(event, amount),
                         SampleShareText(amount)},
        .text_place = named,
        .machine_amounts = {amount.hits, amount.value, amount.lo, amount.hi,
                            row.weights},
        .machine_place = named};
    if (weights) {
      cells.text_amounts.emplace_back(absl::StrFormat(
          "%.1f",
          static_cast<double>(row.weights) / static_cast<double>(amount.hits)));
    }
    list.Add(row.event, row.group, row.in, cells);
  }
  SampleRows out = list.Take();
  out.notes = table.messages;
  for (const rmap::SampledEvent& event : samples.events) {
    if (event.data != logformat::SampleData::kNone) continue;
    out.notes.push_back(absl::StrFormat(
        "the samples of %s have no data addresses and are not in the table",
        event.name));
  }
  return out;
}

}  // namespace

absl::StatusOr<ReportAnswer> ReportData(const ReportRequest& request,
                                        DataDetail detail,
                                        const std::string& group_by,
                                        const std::string& format) {
  const auto input = ReadReportSamples(request, detail);
  if (!input.ok()) return input.status();
  const rmap::Samples& samples = *input->report.samples;
  if (const absl::Status data = CheckData(samples, detail); !data.ok()) {
    return data;
  }
  const SampleGroups groups = GroupSamples(input->report, group_by);
  const rmap::DataTable table =
      rmap::MakeDataTable(input->report, input->reader->info(), detail,
                          {input->chosen, groups.of_context});
  return RenderSamples(input->report, RowsOf(samples, table, detail, groups),
                       {rmap::SampleBooksOf(samples), {}}, format,
                       request.render);
}

}  // namespace countrace::cli
