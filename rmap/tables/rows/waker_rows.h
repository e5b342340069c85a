// Rows of Report::wakers from BlockedTime's sums.
#ifndef COUNTRACE_RMAP_TABLES_ROWS_WAKER_ROWS_H_
#define COUNTRACE_RMAP_TABLES_ROWS_WAKER_ROWS_H_

#include <cstdint>
#include <string>

#include "logformat/trace_info.h"
#include "rmap/result/tables.h"
#include "rmap/tables/bounds/unseen_bounds.h"
#include "rmap/tables/input/table_input.h"

namespace countrace::rmap {

// Requires: ThreadRegistry::SettleProcesses(): every thread has a process; all
// rows of processes; the tree of call paths (BuildSegments() takes it apart).
void BuildWakers(const TableSources& sources, const UnseenBounds& bounds,
                 Report& report);

// "provider:name", or "hook:ID" for a hook without a description.
std::string HookName(const logformat::TraceInfo& info, std::uint32_t hook_id);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_ROWS_WAKER_ROWS_H_
