// Rows of Report::wakers from BlockedTime's sums.
#ifndef COUNTRACE_RMAP_TABLES_WAKER_ROWS_H_
#define COUNTRACE_RMAP_TABLES_WAKER_ROWS_H_

#include "logformat/trace_info.h"
#include "rmap/dispatch/blocked_time.h"
#include "rmap/tables/tables.h"

namespace countrace::rmap {

// Requires: ThreadRegistry::SettleProcesses(): every thread has a process.
void BuildWakers(const logformat::TraceInfo& info, const BlockedTime& blocked,
                 Report& report);

// "provider:name", or "hook:ID" for a hook without a description.
std::string HookName(const logformat::TraceInfo& info, std::uint32_t hook_id);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_WAKER_ROWS_H_
