#include "cli/report/report_samples.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "cli/report/sample_books.h"
#include "cli/report/sample_input.h"
#include "cli/report/sample_rendering.h"
#include "rmap/columns/chosen_columns.h"
#include "rmap/samples/names/name_remedies.h"
#include "rmap/samples/rows/call_tree.h"
#include "rmap/samples/rows/data_rows.h"
#include "rmap/samples/rows/function_rows.h"
#include "rmap/samples/sums/sample_sums.h"
#include "rmap/where/row_filter.h"
#include "rmap/where/row_order.h"

namespace countrace::cli {
namespace {

using logformat::SampleData;
using rmap::DataDetail;
using rmap::ReportBy;
using rmap::SampleBy;
using rmap::SampleTable;

DataDetail DetailOf(SampleBy by) {
  if (by < SampleBy::kData) return DataDetail::kNone;
  if (by == SampleBy::kDataSource) return DataDetail::kSource;
  if (by == SampleBy::kDataPage) return DataDetail::kPage;
  return by == SampleBy::kData ? DataDetail::kObject : DataDetail::kAddress;
}

// What was requested fits the columns of the table; needs no rows.
absl::Status CheckColumnNames(const ReportRequest& request,
                              const SampleTable& table,
                              const logformat::TraceInfo& info) {
  rmap::Report schema;
  schema.samples =
      std::make_shared<const rmap::Samples>(rmap::SampleSums(info).Take());
  schema.sample_table = std::make_shared<SampleTable>(table);
  absl::Status status =
      rmap::CheckColumns(schema, {ReportBy::kSample}, request.render.columns);
  status.Update(
      rmap::where::CheckWhere(request.where, schema, ReportBy::kSample));
  if (!request.sort.empty()) {
    status.Update(
        rmap::where::CheckOrder(request.sort, schema, ReportBy::kSample));
  }
  return AsUsage(status);
}

absl::Status CheckData(const rmap::Samples& samples, SampleBy by) {
  const auto has = [&](SampleData least) {
    return std::any_of(
        samples.events.begin(), samples.events.end(),
        [least](const auto& event) { return event.data >= least; });
  };
  if (by >= SampleBy::kData && !has(SampleData::kAddress)) {
    return absl::FailedPreconditionError(
        "the samples have no data addresses: `countrace record --data --sample "
        "every=100:page-faults` stores them, and `perf record -d`");
  }
  if (by == SampleBy::kDataSource && !has(SampleData::kSource)) {
    return absl::FailedPreconditionError(
        "no sampled event says where its data was: events of a PMU do, for "
        "example cpu/mem-loads/; --by data shows what the addresses belong "
        "to");
  }
  return absl::OkStatus();
}

SampleTable MakeRows(const ReportRequest& request,
                     const SampleTableRequest& wanted, const SampleInput& input,
                     const rmap::SampleChoice& choice) {
  const SampleBy by = wanted.table.by;
  const rmap::Samples& samples = *input.report.samples;
  const logformat::TraceInfo& info = input.reader->info();
  if (by >= SampleBy::kData) {
    return rmap::MakeDataTable(input.report, info, DetailOf(by), choice);
  }
  if (!wanted.table.is_tree()) {
    return rmap::MakeCodeTable(samples, info, by, choice);
  }
  return rmap::MakeCallTree(samples,
                            {.callers = by == SampleBy::kCallers,
                             .function = wanted.function,
                             .choice = choice,
                             .fold_recursion = request.rows.fold_recursion,
                             .least_share = wanted.least_share});
}

// Below the table: what is not in it, and what would give names to its code.
void AddNotes(const SampleInput& input, SampleTable& table) {
  if (table.left_out != 0) {
    table.messages.push_back(absl::StrFormat(
        "%d calls with a smaller part of the samples are left out: --rows 0 "
        "shows all",
        table.left_out));
  }
  if (table.by >= SampleBy::kData) {
    for (const rmap::SampledEvent& event : input.report.samples->events) {
      if (event.data != SampleData::kNone) continue;
      table.messages.push_back(absl::StrFormat(
          "the samples of %s have no data addresses and are not in the table",
          event.name));
    }
    return;
  }
  std::vector<rmap::UnnamedCode> code;
  for (const rmap::SampleRow& row : table.rows) {
    const std::string& place = row.function.empty() ? row.source : row.function;
    code.push_back({place.empty() ? row.dso : place, row.dso, row.self.hits});
  }
  for (std::string& note :
       rmap::NameRemedies(input.report, input.chosen, table.messages, code)) {
    table.messages.push_back(std::move(note));
  }
}

// Sets the table of the report.
absl::Status MakeTable(const ReportRequest& request,
                       const SampleTableRequest& wanted, SampleInput& input) {
  const absl::Status data = CheckData(*input.report.samples, wanted.table.by);
  if (!data.ok()) return data;
  SampleTable table = wanted.table;
  SampleTable made = MakeRows(
      request, wanted, input,
      {.chosen = input.chosen,
       .groups = GroupSamples(input.report, table.group_by, table.groups),
       .without_in = table.without_in});
  table.rows = std::move(made.rows);
  table.left_out = made.left_out;
  table.messages = std::move(made.messages);
  if (table.rows.empty() && table.left_out == 0 && !wanted.function.empty()) {
    const std::string function = base::EscapeName(wanted.function);
    return absl::NotFoundError(absl::StrFormat(
        "no stack has a function %s: `countrace report --by function` names "
        "them; it is a glob: '*%s*'",
        function, function));
  }
  AddNotes(input, table);
  input.report.sample_table = std::make_shared<SampleTable>(std::move(table));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ReportAnswer> ReportSamples(const ReportRequest& request,
                                           const SampleTableRequest& wanted) {
  auto input =
      ReadSamples(request, DetailOf(wanted.table.by),
                  [&](const logformat::TraceInfo& info) {
                    return CheckColumnNames(request, wanted.table, info);
                  });
  if (!input.ok()) return input.status();
  rmap::Report& report = input->report;
  if (const absl::Status made = MakeTable(request, wanted, *input);
      !made.ok()) {
    return made;
  }
  SampleBooksOfEvents books = {rmap::SampleBooksOf(*report.samples), {}};
  if (wanted.table.by < SampleBy::kData) {
    rmap::CodePlaces functions(*report.samples, SampleBy::kFunction);
    books.periods =
        rmap::ComparePeriods(*report.samples, functions, input->chosen);
  }
  if (wanted.validate && books.periods.empty()) {
    return absl::FailedPreconditionError(
        "--validate compares the two periods of an event, and none has two: "
        "record with --sample every=PERIOD:EVENT, a counted event and a PERIOD "
        "of 100 or more");
  }
  rmap::RenderOptions render = request.render;
  render.by = ReportBy::kSample;
  if (!request.sort.empty()) rmap::where::SortRows(request.sort, report);
  std::optional<rmap::RowSelection> selection;
  if (!request.where.steps.empty()) {
    auto selected = rmap::where::SelectRows(request.where, report);
    if (!selected.ok()) return selected.status();
    selection = *std::move(selected);
    render.selection = &*selection;
  }
  return RenderSamples(report, books, render);
}

}  // namespace countrace::cli
