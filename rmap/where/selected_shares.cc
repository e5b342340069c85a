#include "rmap/where/selected_shares.h"

#include <algorithm>

namespace countrace::rmap::where {

bool AddsUp(ReportBy table, const std::vector<std::string>& column,
            bool time_is_wall) {
  const std::string& name = column.front();
  switch (table) {
    case ReportBy::kProcess:
    case ReportBy::kThread:
      return name == "on_cpu_ns" || name == "counts";
    case ReportBy::kSegment:
    case ReportBy::kPath:
      return (name == (time_is_wall ? "wall_ns" : "on_cpu_ns") ||
              name == "counts") &&
             column.back() == "excl";
    case ReportBy::kCpu:
      return name == "wall_ns" || name == "counts";
    case ReportBy::kHook:
      return name == "hits";
    case ReportBy::kWaker:
      return name == "blocked_ns";
    case ReportBy::kDefault:
      break;
  }
  return false;
}

void UseBooks(const Report& report, TableSelection& selection) {
  for (SelectedShare& share : selection.shares) {
    if (!share.is_event) continue;
    const auto event =
        std::find(report.events.begin(), report.events.end(), share.name);
    const auto index = static_cast<std::size_t>(event - report.events.begin());
    share.scaled =
        index < report.scaled_events.size() && report.scaled_events[index];
    if (index >= report.books.size() || !report.books[index].known) continue;
    const Books& books = report.books[index];
    share.of_books = true;
    share.total = books.scaled ? books.scaled->total : books.total;
  }
}

}  // namespace countrace::rmap::where
