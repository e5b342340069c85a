// Names of the formats and tables of a report, for `countrace report` and
// sink.countrace.report.
#ifndef COUNTRACE_RMAP_REPORT_REPORT_NAMES_H_
#define COUNTRACE_RMAP_REPORT_REPORT_NAMES_H_

#include <map>
#include <string>
#include <vector>

#include "rmap/columns/report_by.h"
#include "rmap/report/render_options.h"

namespace countrace::rmap {

inline const std::map<std::string, ReportFormat>& ReportFormats() {
  static const auto& formats = *new std::map<std::string, ReportFormat>{
      {"text", ReportFormat::kText},
      {"json", ReportFormat::kJson},
      {"jsonl", ReportFormat::kJsonLines},
      {"csv", ReportFormat::kCsv}};
  return formats;
}

inline const std::map<std::string, ReportBy>& ReportTables() {
  static const auto& tables = *new std::map<std::string, ReportBy>{
      {"process", ReportBy::kProcess},   {"thread", ReportBy::kThread},
      {"segment", ReportBy::kSegment},   {"path", ReportBy::kPath},
      {"cpu", ReportBy::kCpu},           {"hook", ReportBy::kHook},
      {"waker", ReportBy::kWaker},       {"preemptor", ReportBy::kPreemptor},
      {"syscall", ReportBy::kSystemCall}};
  return tables;
}

template <typename Value>
std::vector<std::string> NamesOf(const std::map<std::string, Value>& values) {
  std::vector<std::string> names;
  for (const auto& [name, value] : values) names.push_back(name);
  return names;
}

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_REPORT_REPORT_NAMES_H_
