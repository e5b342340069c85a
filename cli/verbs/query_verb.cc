#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/posix/output_width.h"
#include "cli/hosts/host_traces.h"
#include "cli/program/exit_status.h"
#include "cli/program/help_texts.h"
#include "cli/program/interruption.h"
#include "cli/program/progress_bar.h"
#include "cli/program/range_options.h"
#include "cli/program/row_table.h"
#include "cli/program/verb.h"
#include "cli/program/verb_parser.h"
#include "cli/trace/trace_input.h"
#include "cli/verbs/query_output.h"
#include "rmap/columns/report_tables.h"
#include "rmap/export/host_tables.h"
#include "rmap/export/table_query.h"

namespace countrace::cli {
namespace {

// Prints which tables and columns the traces have.
int ListTables(const VerbParser& parser, const TraceOptions& options,
               const std::string& format, TraceInput& input) {
  const auto traces = OpenTraces(options, input, TimesUse::kNotNeeded);
  if (!traces.ok()) return parser.Fail(traces.status());
  const auto tables = rmap::TablesOf(traces->traces, traces->clocks);
  if (!tables.ok()) return ReportFailure(kQueryVerb.name, tables.status());
  RowTable list("countrace.tables/1", "columns",
                {"table", "column", "type", "unit", "meaning"});
  for (const rmap::TableSchema& table : *tables) {
    for (const rmap::TableColumn& column : table.columns) {
      list.Add({table.name, column.name,
                std::string(rmap::ValueTypeName(column.type)),
                std::string(rmap::UnitName(column.unit)), column.meaning});
    }
  }
  return PrintData(kQueryVerb.name, list.Render(format));
}

int RunQuery(const Arguments& arguments) {
  VerbParser parser(kQueryVerb);
  TraceOptions options;
  TraceInput input(kQueryVerb.name, options);
  std::string sql, format;
  bool tables = false;
  RangeOptions range_options;
  parser.AddPositional("sql", sql);
  parser.AddReadTrace(options);
  parser.AddFlag("--tables", tables);
  AddRangeOptions(parser, range_options);
  parser.AddFormat(format, {"text", "csv", "json", "jsonl"});
  parser.AddText("--pairs", options.pairs);
  parser.AddNoProgress(options.no_progress);
  if (const auto status = parser.Parse(arguments)) return *status;
  if (tables) {
    if (parser.is_given("trace")) {
      options.more_traces.insert(options.more_traces.begin(), options.trace);
    }
    if (!sql.empty()) options.trace = sql;
    const auto hosts = GivenHosts(options);
    const bool one = options.more_traces.empty();
    if ((hosts.ok() && hosts->empty() && !one) || range_options.given()) {
      return parser.UsageError(
          "--tables takes no statement and no range: leave them out");
    }
    return ListTables(parser, options, format, input);
  }
  if (const absl::Status fits = CheckRangeOptions(parser, range_options);
      !fits.ok()) {
    return parser.UsageError(std::string(fits.message()));
  }
  if (sql.empty()) {
    return parser.UsageError(
        "say what to select: countrace query 'SELECT comm, on_cpu_ns FROM "
        "processes' TRACE; --tables lists tables and columns");
  }
  const auto traces = OpenTraces(options, input);
  if (!traces.ok()) return parser.Fail(traces.status());
  const auto rows = RowsOfEach(*traces, {}, range_options, /*table=*/"");
  if (!rows.ok()) return parser.Fail(AsUsage(rows.status()));
  auto all_tables = rmap::TablesOf(traces->traces, traces->clocks);
  if (!all_tables.ok()) return parser.Fail(all_tables.status());
  const InterruptionGuard guard;
  ProgressBar progress("reading " + options.trace, input.show_progress());
  const rmap::QuerySource source = {
      *std::move(all_tables), [&](rmap::TableWriter& writer) {
        return rmap::ExportTables(traces->traces, traces->clocks, *rows,
                                  progress.Callback(), writer);
      }};
  QueryOutput output(format, base::OutputWidth(STDOUT_FILENO));
  const absl::Status status = rmap::QueryTables(
      source, sql, [] { return IsInterrupted(); },
      {.on_columns =
           [&](const std::vector<std::string>& names) {
             progress.Clear();
             output.Columns(names);
           },
       .on_row =
           [&](std::span<const rmap::Value> row) {
             output.Row(row);
             return output.ok();
           },
       .on_other_bytes =
           [&] {
             progress.Clear();
             Say(kQueryVerb.name,
                 "some names are not UTF-8; such bytes are U+FFFD there");
           }});
  progress.Clear();
  if (!status.ok()) return ReportFailure(kQueryVerb.name, status);
  output.Finish();
  return output.ok() ? kExitOk : kExitFailed;
}

}  // namespace

const Verb kQueryVerb = {"query", kQueryHelp, RunQuery};

}  // namespace countrace::cli
