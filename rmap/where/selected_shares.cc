#include "rmap/where/selected_shares.h"

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
    case ReportBy::kPreemptor:
      return name == "wait_ns";
    case ReportBy::kSystemCall:
      return name == "wall_ns" && column.back() == "incl";
    case ReportBy::kSample:
      return name == "self";
    case ReportBy::kDefault:
      break;
  }
  return false;
}

void UseBooks(const Report& report, TableSelection& selection) {
  for (SelectedShare& share : selection.shares) {
    if (!share.is_event) continue;
    const auto event = EventIndex(report.events, share.name);
    if (!event) continue;
    share.scaled = report.events[*event].scaled;
    if (*event >= report.books.size() || !report.books[*event].known) continue;
    const Books& books = report.books[*event];
    share.of_books = true;
    share.total = books.scaled ? books.scaled->total : books.total;
  }
}

}  // namespace countrace::rmap::where
