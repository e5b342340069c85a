// `report --by data`, `data-page`, `data-address`, `data-source`: what the data
// addresses of samples belong to.
#ifndef COUNTRACE_CLI_REPORT_REPORT_DATA_H_
#define COUNTRACE_CLI_REPORT_REPORT_DATA_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/report/report_request.h"
#include "rmap/result/data_detail.h"

namespace countrace::cli {

// `group_by`: thread, process, comm, user, cgroup; empty: no groups. `format`
// is a value of --format. Errors: as ReportSamples(); FAILED_PRECONDITION no
// sample has a data address, or, of kSource, none what a PMU says of it.
absl::StatusOr<ReportAnswer> ReportData(const ReportRequest& request,
                                        rmap::DataDetail detail,
                                        const std::string& group_by,
                                        const std::string& format);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_REPORT_REPORT_DATA_H_
