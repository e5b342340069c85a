// `countrace export` of all but --to html.
#ifndef COUNTRACE_CLI_VERBS_TABLE_EXPORT_H_
#define COUNTRACE_CLI_VERBS_TABLE_EXPORT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/program/instant.h"
#include "cli/trace/trace_input.h"

namespace countrace::cli {

struct TableExport {
  std::string format;  // sqlite, csv, jsonl, folded, callgrind, pprof, perfetto
  std::string table;   // of csv and jsonl
  std::string weight;  // of profiles
  std::string output;  // a file; empty: stdout, if is_text()
  RangeOptions range;
  std::string process, thread, where;  // of csv, jsonl and profiles
  bool no_texts = false;               // without those that hooks stored

  // Only these can hold several hosts.
  bool is_tables() const { return is_text_table() || format == "sqlite"; }
  bool is_text() const {
    return is_text_table() || format == "folded" || format == "callgrind";
  }
  bool is_text_table() const { return format == "csv" || format == "jsonl"; }
  bool is_profile() const {
    return format == "folded" || format == "callgrind" || format == "pprof";
  }
};

// "processes", ...: those that any trace can have.
std::vector<std::string> TableNames();

// Errors: as rmap::ExportTables() and rmap::ExportPerfetto(); wrong usage
// (IsUsage()): the rows.
absl::Status ExportAsTables(const TraceOptions& options,
                            const TableExport& wanted, TraceInput& input);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_VERBS_TABLE_EXPORT_H_
