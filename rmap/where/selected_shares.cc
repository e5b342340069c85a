#include "rmap/where/selected_shares.h"

namespace countrace::rmap::where {

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
