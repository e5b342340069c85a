// Traces of several hosts, as a command line gives them: `HOST=TRACE ...`, or a
// folder with a trace for each.
#ifndef COUNTRACE_CLI_HOSTS_HOST_TRACES_H_
#define COUNTRACE_CLI_HOSTS_HOST_TRACES_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/program/instant.h"
#include "cli/program/trace_options.h"
#include "cli/trace/trace_input.h"
#include "logformat/read/trace_reader.h"
#include "rmap/export/export_rows.h"
#include "rmap/hosts/host_clock.h"
#include "rmap/hosts/host_clocks.h"
#include "rmap/pipeline.h"

namespace countrace::cli {

struct GivenHost {
  std::string name, path;
};

// Returns: none if the traces are not given so. Errors: INVALID_ARGUMENT, wrong
// usage: not all have a host, or two have the same.
absl::StatusOr<std::vector<GivenHost>> GivenHosts(const TraceOptions& options);

// A run that `diff` compares: one trace, or one of each of several hosts.
struct GivenRun {
  std::string name;              // as given
  std::vector<GivenHost> hosts;  // one without a name: just a trace
};
// The runs of a side of `diff`: traces, folders of hosts' traces, or HOST=TRACE
// in turn, where a run ends before a host that it has.
std::vector<GivenRun> RunsOf(const std::vector<std::string>& traces);
// Errors: INVALID_ARGUMENT, wrong usage: not all runs have the same hosts.
absl::Status CheckSameHosts(const std::vector<GivenRun>& before,
                            const std::vector<GivenRun>& after);

// Opened, and on one clock.
struct HostTraces {
  std::vector<std::unique_ptr<logformat::TraceReader>> readers;
  std::vector<rmap::HostTrace> traces;  // of these
  std::vector<rmap::HostClock> clocks;  // one for each
};
// `pairs`: of --pairs; empty: not given. `messages`, unless null, gets theirs.
// Errors: of TraceInput::Open(), ParsePairs() and AlignHosts().
absl::StatusOr<HostTraces> OpenHosts(
    const std::vector<GivenHost>& hosts, const std::string& pairs,
    TraceInput& input, std::vector<rmap::SentMessage>* messages = nullptr);

// Those of `options`: of hosts, or its one, without a clock. Errors: as above;
// wrong usage: --pairs without hosts.
absl::StatusOr<HostTraces> OpenTraces(const TraceOptions& options,
                                      TraceInput& input,
                                      TimesUse times = TimesUse::kNeeded);
// The extent of all, on their common clock.
TraceExtent ExtentOf(const HostTraces& traces);
// The part of the trace of `host` in that range of the common clock.
rmap::TableRange OwnRange(const HostTraces& traces, std::size_t host,
                          const rmap::TableRange& common);
// `rows` of each trace, in `range` if it is given, of `table` (empty: of any).
// Errors: INVALID_ARGUMENT: there are no such.
absl::StatusOr<std::vector<rmap::ExportRows>> RowsOfEach(
    const HostTraces& traces, const rmap::ExportRows& rows,
    const RangeOptions& range, const std::string& table);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_HOSTS_HOST_TRACES_H_
