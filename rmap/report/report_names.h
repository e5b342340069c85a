// Names of the formats and tables of a report, for `countrace report` and
// sink.countrace.report.
#ifndef COUNTRACE_RMAP_REPORT_REPORT_NAMES_H_
#define COUNTRACE_RMAP_REPORT_REPORT_NAMES_H_

#include <map>
#include <string>
#include <vector>

#include "rmap/columns/report_tables.h"
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
  static const auto& tables = *[] {
    auto* const names = new std::map<std::string, ReportBy>;
    ForEachTable([&](const auto& table) { (*names)[table.option] = table.by; });
    return names;
  }();
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
