#include "cli/report_samples.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/posix/output_width.h"
#include "base/text/name_escape.h"
#include "cli/exit_status.h"
#include "cli/row_table.h"
#include "cli/sample_books.h"
#include "cli/sample_groups.h"
#include "cli/sample_input.h"
#include "cli/sample_text.h"
#include "cli/short_name.h"
#include "cli/verb.h"
#include "rmap/samples/call_tree.h"
#include "rmap/samples/function_rows.h"
#include "rmap/samples/samples_json.h"

namespace countrace::cli {
namespace {

using rmap::CodeBy;
using rmap::CodeRow;
using rmap::SampleBooks;
using rmap::SampledAmount;

// A table of either kind: its columns and rows for people and for programs.
struct Tables {
  std::vector<std::string> text_columns, machine_columns;
  std::vector<std::vector<Cell>> text, machine;  // rows
  std::vector<std::string> notes;
};

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

Tables CodeTables(const rmap::Samples& samples, const rmap::CodeTable& table,
                  CodeBy by, const SampleGroups& groups) {
  const bool several = samples.events.size() > 1;
  const bool contexts =
      std::any_of(table.rows.begin(), table.rows.end(),
                  [](const CodeRow& row) { return !row.in.empty(); });
  Tables out;
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

Tables TreeTables(const rmap::Samples& samples, const rmap::CallTree& tree,
                  const SampleGroups& groups) {
  const bool several = samples.events.size() > 1;
  Tables out;
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

// Cuts names of functions and of their source where lines would be wider than
// a terminal.
void ShortenNames(const std::vector<std::string>& columns, std::size_t width,
                  std::vector<std::vector<Cell>>& rows) {
  constexpr std::size_t kLeast = 24, kBetween = 2;
  std::vector<std::size_t> widths;
  for (const std::string& column : columns) widths.push_back(column.size());
  for (const std::vector<Cell>& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto* const text = std::get_if<std::string>(&row[i]);
      if (text != nullptr) widths[i] = std::max(widths[i], text->size());
    }
  }
  std::size_t all = kBetween * (widths.size() - 1);
  for (const std::size_t one : widths) all += one;
  // The widest first: a path says less than the function.
  for (const std::string_view name : {"source", "function"}) {
    const auto at = std::find(columns.begin(), columns.end(), name);
    if (at == columns.end() || all <= width) continue;
    const auto i = static_cast<std::size_t>(at - columns.begin());
    const std::size_t over = all - width;
    const std::size_t least = std::min(kLeast, widths[i]);
    const std::size_t to =
        widths[i] > over ? std::max(least, widths[i] - over) : least;
    for (std::vector<Cell>& row : rows) {
      auto* const text = std::get_if<std::string>(&row[i]);
      if (text == nullptr) continue;
      *text =
          name == "source" ? ShortPath(*text, to) : ShortFunction(*text, to);
    }
    all -= widths[i] - to;
  }
}

std::string Text(const rmap::Samples& samples, const Tables& tables,
                 const SampleBooksOfEvents& books,
                 const rmap::RenderOptions& options) {
  RowTable rows("", "", tables.text_columns);
  const std::size_t all = tables.text.size();
  const std::size_t shown = options.max_rows == 0
                                ? all
                                : std::min<std::size_t>(all, options.max_rows);
  std::vector<std::vector<Cell>> cells(
      tables.text.begin(),
      tables.text.begin() + static_cast<std::ptrdiff_t>(shown));
  if (options.width != base::kAnyWidth) {
    ShortenNames(tables.text_columns, options.width, cells);
  }
  for (std::vector<Cell>& row : cells) rows.Add(std::move(row));
  std::string text = rows.Render("text");
  if (shown < all) {
    absl::StrAppendFormat(&text, "%d more rows: --rows 0 shows all\n",
                          all - shown);
  }
  text += BooksText(samples, books);
  for (const std::string& note : tables.notes) text += "note: " + note + "\n";
  return text;
}

std::string Json(const rmap::Samples& samples, const Tables& tables,
                 const SampleBooksOfEvents& books) {
  nlohmann::ordered_json out;
  out["schema"] = "countrace.samples/1";
  out["books"] = rmap::BooksJson(samples, books.events, books.periods);
  out["rows"] = nlohmann::ordered_json::array();
  for (const std::vector<Cell>& cells : tables.machine) {
    nlohmann::ordered_json row;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string& name = tables.machine_columns[i];
      if (const auto* text = std::get_if<std::string>(&cells[i])) {
        row[name] = *text;
      } else if (const auto* number = std::get_if<std::uint64_t>(&cells[i])) {
        row[name] = *number;
      } else if (const auto* yes = std::get_if<bool>(&cells[i])) {
        row[name] = *yes;
      } else {
        row[name] = nullptr;
      }
    }
    out["rows"].push_back(std::move(row));
  }
  out["notes"] = tables.notes;
  // Names of files may be no UTF-8.
  return out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

CodeBy CodeByOf(SampleTable table) {
  if (table == SampleTable::kDso) return CodeBy::kDso;
  if (table == SampleTable::kLine) return CodeBy::kLine;
  if (table == SampleTable::kFile) return CodeBy::kFile;
  return table == SampleTable::kAddress ? CodeBy::kAddress : CodeBy::kFunction;
}

ReportAnswer Answer(const rmap::Report& report,
                    const SampleBooksOfEvents& books, std::string text) {
  ReportAnswer answer = AnswerOf(report, std::move(text));
  for (const SampleBooks& one : books.events) {
    answer.has_loss |= one.lost + one.stacks_lost != 0;
  }
  for (const rmap::PeriodComparison& one : books.periods) {
    answer.periods_disagree |= one.disagree();
  }
  return answer;
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
  Tables tables;
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
  if (wanted.format == "text") {
    return Answer(report, books, Text(samples, tables, books, request.render));
  }
  for (const std::string& note : tables.notes) Say(kReportVerb.name, note);
  if (wanted.format == "json") {
    return Answer(report, books, Json(samples, tables, books));
  }
  RowTable rows("countrace.samples/1", "rows", tables.machine_columns);
  for (std::vector<Cell>& row : tables.machine) rows.Add(std::move(row));
  return Answer(report, books, rows.Render(wanted.format));
}

}  // namespace countrace::cli
