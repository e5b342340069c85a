// Which rows of an index are not sure: the report has limits of their numbers
// in the whole trace, or more than the index's leaves. In: a report's rows.
// Out: the marks that a range's numbers get (file_layout.h). Thread: any.
#ifndef COUNTRACE_VIEWER_INDEX_BUILD_UNSURE_ROWS_H_
#define COUNTRACE_VIEWER_INDEX_BUILD_UNSURE_ROWS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "logformat/trace_info.h"
#include "rmap/result/tables.h"
#include "viewer/index/build/name_tables.h"
#include "viewer/index/file/file_layout.h"

namespace countrace::viewer {

// Sums of the leaves of one thread or process.
struct LeafSums {
  std::uint64_t on_cpu_ns = 0, wait_ns = 0, dispatches = 0;
  std::vector<std::uint64_t> counts = {};  // one for each event
  void Add(const LeafSums& other);
};

// Marks processes, threads, rows of CPUs, and the groups of segments. `sums`
// are by thread.
void MarkUnsureRows(const rmap::Report& report,
                    const logformat::TraceInfo& info,
                    std::map<std::uint32_t, LeafSums>& sums, NameTables& names,
                    std::vector<RowEntry>& rows,
                    std::vector<GroupEntry>& groups);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_BUILD_UNSURE_ROWS_H_
