// Opens the index of a trace: finds it beside the trace or in the user's cache,
// or builds it.
#ifndef COUNTRACE_VIEWER_INDEX_OPEN_OR_BUILD_H_
#define COUNTRACE_VIEWER_INDEX_OPEN_OR_BUILD_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "logformat/read/trace_reader.h"
#include "viewer/index/timeline_index.h"

namespace countrace::viewer {

// Identity and state of an open trace.
Fingerprint FingerprintOf(const logformat::TraceReader& reader);

// The place of the index for the trace at `trace_path`: the trace directory if
// it is writable, else $XDG_CACHE_HOME/countrace or ~/.cache/countrace.
// Returns: PERMISSION_DENIED neither is writable.
absl::StatusOr<std::string> IndexPathFor(const std::string& trace_path);

// Opens the index, building it if it is missing, stale or damaged. Returns:
// errors of the reader, of reconstruction and of writing; CANCELLED if
// `progress` returned stop. `shown_as` as in TraceReader::Open().
absl::StatusOr<std::unique_ptr<TimelineIndex>> OpenOrBuildIndex(
    const std::string& trace_path, const logformat::ProgressCallback& progress,
    const std::string& shown_as = "");

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_OPEN_OR_BUILD_H_
