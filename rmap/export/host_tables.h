// The tables of several hosts as one set: each has `host` first, and instants
// are on the clock that the hosts share.
//
//   ExportTables of one host after the other --> HostTables --> TableWriter
//
// Rows of streamed tables go through. Those of a report, whose columns depend
// on what was recorded, wait for the last host. Thread: one.
#ifndef COUNTRACE_RMAP_EXPORT_HOST_TABLES_H_
#define COUNTRACE_RMAP_EXPORT_HOST_TABLES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/progress.h"
#include "rmap/export/export_rows.h"
#include "rmap/export/table_writer.h"
#include "rmap/hosts/host_clock.h"
#include "rmap/hosts/host_clocks.h"

namespace countrace::rmap {

// As TablesOf() and ExportTables() of one trace, with the columns of all, and
// the table `hosts`. `clocks`, `rows`: one for each trace. Without clocks it is
// one trace, of no host.
absl::StatusOr<std::vector<TableSchema>> TablesOf(
    const std::vector<HostTrace>& traces, const std::vector<HostClock>& clocks);
absl::StatusOr<std::string> ExportTables(
    const std::vector<HostTrace>& traces, const std::vector<HostClock>& clocks,
    const std::vector<ExportRows>& rows,
    const logformat::ProgressCallback& progress, TableWriter& writer);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_EXPORT_HOST_TABLES_H_
