// Runs countrace-load, which links the libraries of database servers: a process
// for each trace. Thread: the main one; forks.
#ifndef COUNTRACE_CLI_TRACE_LOAD_PROCESSES_H_
#define COUNTRACE_CLI_TRACE_LOAD_PROCESSES_H_

#include <string>
#include <string_view>
#include <vector>

namespace countrace::cli {

// One process for each of `jobs`, its arguments (load_main.cc), as many at a
// time as there are CPUs. They say themselves what failed. Returns: the exit
// status of `verb`.
int RunLoaders(std::string_view verb,
               const std::vector<std::vector<std::string>>& jobs);

// Makes `file` a database as `export --to sqlite` does, with the tables of
// `report` of a loaded trace. `address`: "clickhouse://HOST/DATABASE#TRACE",
// see rmap/load/fetch_tables.h for TRACE. Returns: the exit status of `verb`;
// what failed is said.
int FetchReportTables(std::string_view verb, const std::string& address,
                      const std::string& password_file,
                      const std::string& file);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_TRACE_LOAD_PROCESSES_H_
