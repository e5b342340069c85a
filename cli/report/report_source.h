// Where a report comes from: the records of a trace, those of several hosts on
// one clock, or the tables that `export --to sqlite` made (rmap/stored/).
#ifndef COUNTRACE_CLI_REPORT_REPORT_SOURCE_H_
#define COUNTRACE_CLI_REPORT_REPORT_SOURCE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/hosts/host_traces.h"
#include "cli/program/instant.h"
#include "cli/trace/trace_input.h"
#include "rmap/pipeline.h"
#include "rmap/stored/stored_report.h"

namespace countrace::cli {

class ReportSource final {
 public:
  // Errors: of TraceInput::Open() and ReadStoredReport().
  static absl::StatusOr<ReportSource> Open(TraceInput& input,
                                           const std::string& path,
                                           TimesUse times = TimesUse::kNeeded);
  // `pairs`: as OpenHosts(). Errors: of it.
  static absl::StatusOr<ReportSource> OpenSeveral(
      TraceInput& input, const std::vector<GivenHost>& hosts,
      const std::string& pairs);

  // The names of all events.
  std::vector<std::string> Events() const;
  // Its tables and columns, without rows; see EmptyReport().
  absl::StatusOr<rmap::Report> Empty(const rmap::GatingRequest& gating) const;
  // On the clock of the tables. Requires: it is of traces.
  TraceExtent Extent() const;
  // Reads all; of tables only `options.rows` counts. At most once. Errors: of
  // Reconstruct(); wrong usage: tables do not have such rows.
  absl::StatusOr<rmap::Report> Read(const rmap::PipelineOptions& options);

 private:
  bool of_tables() const { return traces_.readers.empty(); }
  bool of_hosts() const { return !traces_.clocks.empty(); }

  HostTraces traces_;  // one without a clock: not of hosts; none: of tables
  rmap::StoredReport stored_;
};

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_REPORT_REPORT_SOURCE_H_
