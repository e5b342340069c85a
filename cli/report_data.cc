#include "cli/report_data.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "cli/sample_groups.h"
#include "cli/sample_input.h"
#include "cli/sample_rendering.h"
#include "cli/sample_text.h"
#include "cli/verb.h"
#include "rmap/samples/data_rows.h"
#include "rmap/samples/event_books.h"
#include "rmap/samples/samples.h"

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

// The columns by which rows differ, and their cells.
struct Columns {
  std::vector<std::string> names;
  std::vector<Cell> (*cells)(const DataRow& row);
};

Columns ColumnsOf(DataDetail detail) {
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
  const auto any = [&](const auto& holds) {
    return std::any_of(table.rows.begin(), table.rows.end(), holds);
  };
  const bool several = samples.events.size() > 1;
  const bool contexts = any([](const DataRow& row) { return !row.in.empty(); });
  const bool weights = any([](const DataRow& row) { return row.weights > 0; });
  const Columns columns = ColumnsOf(detail);
  SampleRows out;
  if (several) out.text_columns.emplace_back("event");
  out.text_columns.insert(out.text_columns.end(),
                          {"samples", "self", "self of all"});
  if (weights) out.text_columns.emplace_back("mean weight");
  out.text_columns.insert(out.text_columns.end(), groups.columns.begin(),
                          groups.columns.end());
  if (contexts) out.text_columns.emplace_back("in");
  out.text_columns.insert(out.text_columns.end(), columns.names.begin(),
                          columns.names.end());
  out.machine_columns = {"event"};
  out.machine_columns.insert(out.machine_columns.end(), groups.columns.begin(),
                             groups.columns.end());
  out.machine_columns.emplace_back("in");
  out.machine_columns.insert(out.machine_columns.end(), columns.names.begin(),
                             columns.names.end());
  out.machine_columns.insert(
      out.machine_columns.end(),
      {"self_samples", "self", "self_lo", "self_hi", "weights"});
  for (const DataRow& row : table.rows) {
    const std::string& event = samples.events[row.event].name;
    const std::vector<Cell> names = columns.cells(row);
    const std::vector<Cell> group =
        groups.columns.empty() ? std::vector<Cell>() : groups.names[row.group];
    std::vector<Cell> text;
    if (several) text.emplace_back(event);
    text.insert(text.end(),
                {row.amount.hits, SampleEstimateText(event, row.amount),
                 SampleShareText(row.amount)});
    if (weights) {
      text.emplace_back(
          absl::StrFormat("%.1f", static_cast<double>(row.weights) /
                                      static_cast<double>(row.amount.hits)));
    }
    text.insert(text.end(), group.begin(), group.end());
    if (contexts) text.emplace_back(row.in);
    text.insert(text.end(), names.begin(), names.end());
    out.text.push_back(std::move(text));
    std::vector<Cell> machine = {event};
    machine.insert(machine.end(), group.begin(), group.end());
    machine.emplace_back(row.in);
    machine.insert(machine.end(), names.begin(), names.end());
    machine.insert(machine.end(), {row.amount.hits, row.amount.value,
                                   row.amount.lo, row.amount.hi, row.weights});
    out.machine.push_back(std::move(machine));
  }
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
  const auto input = ReadSamples({.verb = kReportVerb.name,
                                  .input = request.input,
                                  .trace = request.trace,
                                  .gating = request.gating,
                                  .range = request.range,
                                  .process = request.process,
                                  .thread = request.thread,
                                  .data = detail});
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
