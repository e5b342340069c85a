// The text report around its tables: what was recorded, and what is missing.
#ifndef COUNTRACE_RMAP_REPORT_SUMMARY_TEXT_H_
#define COUNTRACE_RMAP_REPORT_SUMMARY_TEXT_H_

#include <string>

#include "rmap/result/tables.h"

namespace countrace::rmap {

// The first lines: the trace, its scope, why it was taken, the CPU time.
std::string SummaryText(const Report& report);
// The last ones: notes, the width of intervals, losses (red with `color`).
std::string LossText(const Report& report, bool color);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_REPORT_SUMMARY_TEXT_H_
