// The tables of a report that a user can select.
#ifndef COUNTRACE_RMAP_COLUMNS_REPORT_BY_H_
#define COUNTRACE_RMAP_COLUMNS_REPORT_BY_H_

#include <cstdint>

namespace countrace::rmap {

// kDefault: summary, processes, segments, books, loss.
enum class ReportBy : std::uint8_t {
  kDefault,
  kProcess,
  kThread,
  kSegment,
  kPath,
  kCpu,
  kHook,
  kWaker,
  kPreemptor,
  kSystemCall,
  kFault,
  kFile,
  kLevel,
  kSample,  // Report::sample_table
  kTree     // Report::tree_table
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_COLUMNS_REPORT_BY_H_
