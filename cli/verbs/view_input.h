// What `view` serves, checked against its traces.
#ifndef COUNTRACE_CLI_VERBS_VIEW_INPUT_H_
#define COUNTRACE_CLI_VERBS_VIEW_INPUT_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/hosts/host_traces.h"
#include "cli/program/trace_options.h"
#include "cli/trace/trace_input.h"
#include "logformat/trace_info.h"
#include "viewer/server.h"

namespace countrace::cli {

// Errors: INVALID_ARGUMENT, wrong usage: the rules of trees are wrong, or the
// trace has not what --join names.
absl::Status CheckFit(const viewer::ServeOptions& serve,
                      const logformat::TraceInfo& info);

// `all`: what is served of each, with the whole rule of --join. Errors: of
// OpenHosts(); INVALID_ARGUMENT, wrong usage: as CheckFit(), where no host has
// what --join names.
absl::StatusOr<viewer::ServedHosts> HostsToView(
    const std::vector<GivenHost>& hosts, const TraceOptions& options,
    const viewer::ServeOptions& all, TraceInput& input);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_VERBS_VIEW_INPUT_H_
