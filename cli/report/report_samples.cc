#include "cli/report/report_samples.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "cli/report/sample_books.h"
#include "cli/report/sample_groups.h"
#include "cli/report/sample_input.h"
#include "cli/report/sample_rendering.h"
#include "cli/report/sample_rows.h"
#include "cli/report/sample_text.h"
#include "rmap/samples/names/name_remedies.h"
#include "rmap/samples/rows/call_tree.h"
#include "rmap/samples/rows/function_rows.h"

namespace countrace::cli {
namespace {

using rmap::CodeBy;
using rmap::CodeRow;
using rmap::SampledAmount;

SampleParts<std::string> AmountColumns() {
  return {.text_amounts = {"self", "total", "self of all", "total of all"},
          .text_place = {},
          .machine_amounts = {"self_samples", "self", "self_lo", "self_hi",
                              "total_samples", "total", "total_lo", "total_hi"},
          .machine_place = {}};
}

SampleParts<Cell> AmountCells(const std::string& event,
                              const SampledAmount& self,
                              const SampledAmount& total) {
  SampleParts<Cell> cells;
  for (const SampledAmount* amount : {&self, &total}) {
    cells.text_amounts.emplace_back(SampleEstimateText(event, *amount));
    cells.machine_amounts.insert(
        cells.machine_amounts.end(),
        {amount->hits, amount->value, amount->lo, amount->hi});
  }
  cells.text_amounts.emplace_back(SampleShareText(self));
  cells.text_amounts.emplace_back(SampleShareText(total));
  return cells;
}

// As a person reads it.
std::string Marked(const std::string& function, bool inlined) {
  return inlined ? function + " (inlined)" : function;
}

SampleRows CodeTables(const rmap::Samples& samples,
                      const rmap::CodeTable& table, CodeBy by,
                      const SampleGroups& groups) {
  const bool functions = by == CodeBy::kFunction || by == CodeBy::kAddress;
  const bool lines = by == CodeBy::kLine || by == CodeBy::kFile;
  SampleParts<std::string> columns = AmountColumns();
  std::vector<std::string>& place = columns.text_place;
  if (functions) place.emplace_back("function");
  if (lines) place.emplace_back("source");
  place.emplace_back("dso");
  if (by == CodeBy::kAddress) {
    place.insert(place.end(), {"address", "source"});
  }
  columns.machine_place = place;
  if (functions) columns.machine_place.emplace_back("inlined");
  SampleRowList list(samples, groups, ContextsOf(table.rows), columns);
  for (const CodeRow& row : table.rows) {
    SampleParts<Cell> cells =
        AmountCells(samples.events[row.event].name, row.self, row.total);
    std::vector<Cell>& names = cells.text_place;
    if (functions) names.emplace_back(row.function);
    if (lines) names.emplace_back(row.source);
    names.emplace_back(row.dso);
    if (by == CodeBy::kAddress) {
      names.insert(names.end(),
                   {absl::StrFormat("0x%x", row.address), row.source});
    }
    cells.machine_place = names;
    if (functions) {
      cells.machine_place.emplace_back(row.inlined);
      names[0] = Marked(row.function, row.inlined);
    }
    list.Add(row.event, row.group, row.in, cells);
  }
  SampleRows out = list.Take();
  out.notes = table.messages;
  return out;
}

SampleRows TreeTables(const rmap::Samples& samples, const rmap::CallTree& tree,
                      const SampleGroups& groups) {
  SampleParts<std::string> columns = AmountColumns();
  columns.text_place = {"function", "dso"};
  columns.machine_place = {"depth", "function", "dso", "inlined"};
  SampleRowList list(samples, groups, SampleContexts::kNone, columns);
  for (const rmap::CallTreeRow& row : tree.rows) {
    SampleParts<Cell> cells =
        AmountCells(samples.events[row.event].name, row.self, row.total);
    cells.machine_place = {std::uint64_t{row.depth}, row.function, row.dso,
                           row.inlined};
    // Deep recursion would push the names out of sight.
    constexpr std::uint32_t kDeepest = 40;
    cells.text_place = {std::string(2 * std::min(row.depth, kDeepest), ' ') +
                            Marked(row.function, row.inlined),
                        row.dso};
    list.Add(row.event, row.group, "", cells);
  }
  SampleRows out = list.Take();
  out.notes = tree.messages;
  if (tree.left_out != 0) {
    out.notes.push_back(absl::StrFormat(
        "%d calls with a smaller part of the samples are left out: --rows 0 "
        "shows all",
        tree.left_out));
  }
  return out;
}

CodeBy CodeByOf(SampleTable table) {
  if (table == SampleTable::kDso) return CodeBy::kDso;
  if (table == SampleTable::kLine) return CodeBy::kLine;
  if (table == SampleTable::kFile) return CodeBy::kFile;
  return table == SampleTable::kAddress ? CodeBy::kAddress : CodeBy::kFunction;
}

}  // namespace

absl::StatusOr<ReportAnswer> ReportSamples(const ReportRequest& request,
                                           const SampleTableRequest& wanted) {
  const auto input = ReadReportSamples(request, rmap::DataDetail::kNone);
  if (!input.ok()) return input.status();
  const rmap::Report& report = input->report;
  const rmap::Samples& samples = *report.samples;
  const SampleGroups groups = GroupSamples(report, wanted.group_by);
  const rmap::SampleChoice choice = {input->chosen, groups.of_context};
  SampleRows tables;
  std::vector<rmap::UnnamedCode> code;
  if (wanted.table == SampleTable::kCallTree ||
      wanted.table == SampleTable::kCallers) {
    const rmap::CallTree tree = rmap::MakeCallTree(
        samples, {.callers = wanted.table == SampleTable::kCallers,
                  .function = wanted.function,
                  .choice = choice,
                  .fold_recursion = request.rows.fold_recursion,
                  .least_share = wanted.least_share});
    if (tree.rows.empty() && tree.left_out == 0 && !wanted.function.empty()) {
      return absl::NotFoundError(absl::StrFormat(
          "no stack has a function %s: `countrace report --by function` names "
          "them; it is a glob: '*%s*'",
          base::EscapeName(wanted.function),
          base::EscapeName(wanted.function)));
    }
    tables = TreeTables(samples, tree, groups);
    for (const rmap::CallTreeRow& row : tree.rows) {
      code.push_back({row.function, row.dso, row.self.hits});
    }
  } else {
    const CodeBy by = CodeByOf(wanted.table);
    const rmap::CodeTable table =
        rmap::MakeCodeTable(samples, input->reader->info(), by, choice);
    tables = CodeTables(samples, table, by, groups);
    for (const CodeRow& row : table.rows) {
      const std::string& place =
          row.function.empty() ? row.source : row.function;
      code.push_back({place.empty() ? row.dso : place, row.dso, row.self.hits});
    }
  }
  for (std::string& note :
       rmap::NameRemedies(report, choice.chosen, tables.notes, code)) {
    tables.notes.push_back(std::move(note));
  }
  rmap::CodePlaces functions(samples, CodeBy::kFunction);
  SampleBooksOfEvents books = {
      rmap::SampleBooksOf(samples),
      rmap::ComparePeriods(samples, functions, choice.chosen)};
  if (wanted.validate && books.periods.empty()) {
    return absl::FailedPreconditionError(
        "--validate compares the two periods of an event, and none has two: "
        "record with --sample every=PERIOD:EVENT, a counted event and a PERIOD "
        "of 100 or more");
  }
  return RenderSamples(report, tables, books, wanted.format, request.render);
}

}  // namespace countrace::cli
