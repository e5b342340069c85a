#include "cli/report_samples.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "cli/sample_books.h"
#include "cli/sample_groups.h"
#include "cli/sample_input.h"
#include "cli/sample_rendering.h"
#include "cli/sample_text.h"
#include "cli/verb.h"
#include "rmap/samples/call_tree.h"
#include "rmap/samples/function_rows.h"

namespace countrace::cli {
namespace {

using rmap::CodeBy;
using rmap::CodeRow;
using rmap::SampledAmount;

void AddAmounts(const SampledAmount& self, const SampledAmount& total,
                const std::string& event, std::vector<Cell>& text,
                std::vector<Cell>& machine) {
  for (const SampledAmount* amount : {&self, &total}) {
    text.emplace_back(SampleEstimateText(event, *amount));
    machine.insert(machine.end(),
                   {amount->hits, amount->value, amount->lo, amount->hi});
  }
  text.emplace_back(SampleShareText(self));
  text.emplace_back(SampleShareText(total));
}

const std::vector<std::string>& TextAmounts() {
  static const auto& names = *new std::vector<std::string>{
      "self", "total", "self of all", "total of all"};
  return names;
}
const std::vector<std::string>& MachineAmounts() {
  static const auto& names = *new std::vector<std::string>{
      "self_samples",  "self",  "self_lo",  "self_hi",
      "total_samples", "total", "total_lo", "total_hi"};
  return names;
}

template <typename Value>
void Append(std::vector<Value>& to, const std::vector<Value>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

void AppendGroup(const SampleGroups& groups, std::uint32_t group,
                 std::vector<Cell>& to) {
  if (!groups.columns.empty()) Append(to, groups.names[group]);
}

// As a person reads it.
std::string Marked(const std::string& function, bool inlined) {
  return inlined ? function + " (inlined)" : function;
}

SampleRows CodeTables(const rmap::Samples& samples,
                      const rmap::CodeTable& table, CodeBy by,
                      const SampleGroups& groups) {
  const bool several = samples.events.size() > 1;
  const bool contexts =
      std::any_of(table.rows.begin(), table.rows.end(),
                  [](const CodeRow& row) { return !row.in.empty(); });
  SampleRows out;
  const bool functions = by == CodeBy::kFunction || by == CodeBy::kAddress;
  const bool lines = by == CodeBy::kLine || by == CodeBy::kFile;
  std::vector<std::string> place;
  if (functions) place.emplace_back("function");
  if (lines) place.emplace_back("source");
  place.emplace_back("dso");
  if (by == CodeBy::kAddress) Append(place, {"address", "source"});
  if (several) out.text_columns.emplace_back("event");
  Append(out.text_columns, TextAmounts());
  Append(out.text_columns, groups.columns);
  if (contexts) out.text_columns.emplace_back("in");
  Append(out.text_columns, place);
  out.machine_columns = {"event"};
  Append(out.machine_columns, groups.columns);
  out.machine_columns.emplace_back("in");
  Append(out.machine_columns, place);
  if (functions) out.machine_columns.emplace_back("inlined");
  Append(out.machine_columns, MachineAmounts());
  for (const CodeRow& row : table.rows) {
    const std::string& event = samples.events[row.event].name;
    std::vector<Cell> names;
    if (functions) names.emplace_back(row.function);
    if (lines) names.emplace_back(row.source);
    names.emplace_back(row.dso);
    if (by == CodeBy::kAddress) {
      names.emplace_back(absl::StrFormat("0x%x", row.address));
      names.emplace_back(row.source);
    }
    std::vector<Cell> text;
    std::vector<Cell> machine = {event};
    AppendGroup(groups, row.group, machine);
    machine.emplace_back(row.in);
    Append(machine, names);
    if (functions) machine.emplace_back(row.inlined);
    if (functions) names[0] = Marked(row.function, row.inlined);
    if (several) text.emplace_back(event);
    AddAmounts(row.self, row.total, event, text, machine);
    AppendGroup(groups, row.group, text);
    if (contexts) text.emplace_back(row.in);
    Append(text, names);
    out.text.push_back(std::move(text));
    out.machine.push_back(std::move(machine));
  }
  out.notes = table.messages;
  return out;
}

SampleRows TreeTables(const rmap::Samples& samples, const rmap::CallTree& tree,
                      const SampleGroups& groups) {
  const bool several = samples.events.size() > 1;
  SampleRows out;
  if (several) out.text_columns.emplace_back("event");
  Append(out.text_columns, TextAmounts());
  Append(out.text_columns, groups.columns);
  Append(out.text_columns, {"function", "dso"});
  out.machine_columns = {"event"};
  Append(out.machine_columns, groups.columns);
  Append(out.machine_columns, {"depth", "function", "dso", "inlined"});
  Append(out.machine_columns, MachineAmounts());
  for (const rmap::CallTreeRow& row : tree.rows) {
    const std::string& event = samples.events[row.event].name;
    std::vector<Cell> text;
    std::vector<Cell> machine = {event};
    AppendGroup(groups, row.group, machine);
    machine.insert(machine.end(), {std::uint64_t{row.depth}, row.function,
                                   row.dso, row.inlined});
    if (several) text.emplace_back(event);
    AddAmounts(row.self, row.total, event, text, machine);
    AppendGroup(groups, row.group, text);
    // Deep recursion would push the names out of sight.
    constexpr std::uint32_t kDeepest = 40;
    text.emplace_back(std::string(2 * std::min(row.depth, kDeepest), ' ') +
                      Marked(row.function, row.inlined));
    text.emplace_back(row.dso);
    out.text.push_back(std::move(text));
    out.machine.push_back(std::move(machine));
  }
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
  const auto input = ReadSamples({.verb = kReportVerb.name,
                                  .input = request.input,
                                  .trace = request.trace,
                                  .gating = request.gating,
                                  .range = request.range,
                                  .process = request.process,
                                  .thread = request.thread});
  if (!input.ok()) return input.status();
  const rmap::Report& report = input->report;
  const rmap::Samples& samples = *report.samples;
  const SampleGroups groups = GroupSamples(report, wanted.group_by);
  const rmap::SampleChoice choice = {input->chosen, groups.of_context};
  SampleRows tables;
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
  } else {
    const CodeBy by = CodeByOf(wanted.table);
    tables = CodeTables(
        samples,
        rmap::MakeCodeTable(samples, input->reader->info(), by, choice), by,
        groups);
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
