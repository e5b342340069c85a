// Reports of the trace beside an index, for answers that the index does not
// hold. Each reads the trace once.
//
// Thread: any; at most one at a time is made.
#ifndef COUNTRACE_VIEWER_SERVER_TABLES_TRACE_REPORT_H_
#define COUNTRACE_VIEWER_SERVER_TABLES_TRACE_REPORT_H_

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "logformat/progress.h"
#include "rmap/pipeline.h"
#include "viewer/index/file/timeline_index.h"
#include "viewer/server/wire/api_query.h"

namespace countrace::viewer {

// The range that a request names. Absent, with the query's error: a number is
// wrong. The whole trace: neither `from` nor `to`.
std::optional<rmap::TableRange> ReportRange(const TimelineIndex& index,
                                            ApiQuery& query, const char* from,
                                            const char* to);

// To be held while a report is made: its rows are most of the server's memory.
std::timed_mutex& MakingReport();

// Waits for MakingReport() as long as `is_wanted`: who waits has one of the
// server's threads. The result does not own it where it was not.
std::unique_lock<std::timed_mutex> TurnToReport(
    const std::function<bool()>& is_wanted);

// Requires: MakingReport() is held.
absl::StatusOr<rmap::Report> ReportOf(
    const std::string& trace_path, rmap::TableRange range,
    rmap::WantedRows rows = {}, logformat::ProgressCallback progress = {});

// Gives processes and threads the numbers that they have in the index. Those
// that no record names are numbered behind all others, so in a range before
// others of the trace.
void NumberAsIndex(const TimelineIndex& index, rmap::Report& report);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_TABLES_TRACE_REPORT_H_
