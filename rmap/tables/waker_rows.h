// Rows of Report::wakers from what BlockedTime kept.
#ifndef COUNTRACE_RMAP_TABLES_WAKER_ROWS_H_
#define COUNTRACE_RMAP_TABLES_WAKER_ROWS_H_

#include "logformat/read/trace_reader.h"
#include "rmap/dispatch/blocked_time.h"
#include "rmap/tables/tables.h"

namespace countrace::rmap {

// Requires: ThreadRegistry::SettleProcesses(), so that every thread has a
// process.
void BuildWakers(const logformat::TraceInfo& info, const BlockedTime& blocked,
                 Report& report);

// "provider:name", also of hooks that nobody described.
std::string HookName(const logformat::TraceInfo& info, std::uint32_t hook_id);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_WAKER_ROWS_H_
