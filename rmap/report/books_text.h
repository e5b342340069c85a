// The books in the text report: that the accounts add up to the totals.
#ifndef COUNTRACE_RMAP_REPORT_BOOKS_TEXT_H_
#define COUNTRACE_RMAP_REPORT_BOOKS_TEXT_H_

#include "rmap/report/text_tables.h"

namespace countrace::rmap {

// Appends the books of every event, of multiplexed ones also the estimates, and
// what the recording itself cost.
void AppendBooks(TextTables& tables);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_REPORT_BOOKS_TEXT_H_
