// `countrace export` of tables and profiles: all but --to html.
#ifndef COUNTRACE_CLI_TRACE_TABLE_EXPORT_H_
#define COUNTRACE_CLI_TRACE_TABLE_EXPORT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/trace/trace_input.h"

namespace countrace::cli {

struct TableExport {
  std::string format;  // sqlite, csv, jsonl, folded, callgrind, pprof
  std::string table;   // of csv and jsonl
  std::string weight;  // of the last three
  std::string output;  // a file; empty: stdout, not of sqlite

  bool is_text_table() const { return format == "csv" || format == "jsonl"; }
  bool is_profile() const {
    return format == "folded" || format == "callgrind" || format == "pprof";
  }
};

// "processes", ...: those that any trace can have.
std::vector<std::string> TableNames();

// Errors: as rmap::ExportTables().
absl::Status ExportAsTables(const std::string& trace, const TableExport& wanted,
                            TraceInput& input);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_TRACE_TABLE_EXPORT_H_
