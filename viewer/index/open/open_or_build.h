// Opens the index of a trace: finds it beside the trace or in the user's cache,
// or builds it.
#ifndef COUNTRACE_VIEWER_INDEX_OPEN_OPEN_OR_BUILD_H_
#define COUNTRACE_VIEWER_INDEX_OPEN_OPEN_OR_BUILD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "logformat/read/trace_reader.h"
#include "rmap/pipeline.h"
#include "viewer/index/file/timeline_index.h"
#include "viewer/index/open/recorded_bytes.h"

namespace countrace::viewer {

// Identity and state of an open trace.
Fingerprint FingerprintOf(const logformat::TraceReader& reader);

// The place of the index for the trace at `trace_path`: the trace directory if
// it is writable, else $XDG_CACHE_HOME/countrace or ~/.cache/countrace.
// Returns: PERMISSION_DENIED neither is writable.
absl::StatusOr<std::string> IndexPathFor(const std::string& trace_path);

// What to look at while the index is built (first_parts.h).
struct FirstParts {
  // Called with the index of the trace's first part, then of longer ones, on
  // any thread, one call at a time; not if the whole index is there. Empty: no
  // part is built. With each comes what heads tell of the whole trace.
  std::function<void(std::unique_ptr<TimelineIndex>, RecordedBytes)> on_part;
  // Length of the first part, in bytes of streams: read in less than a second.
  std::uint64_t first_bytes = std::uint64_t{16} << 20;
};

// Opens the index, building it if it is missing, stale, damaged or of a first
// part; waits while another process builds it. Returns: errors of the reader,
// of reconstruction and of writing; CANCELLED if `progress` returned stop.
// `shown_as` as in TraceReader::Open().
absl::StatusOr<std::unique_ptr<TimelineIndex>> OpenOrBuildIndex(
    const std::string& trace_path, const logformat::ProgressCallback& progress,
    const std::string& shown_as = "", const FirstParts& parts = {});

// Builds the index of a range of the trace at `path`, in the directory of which
// there is room for it. Errors: as above.
absl::StatusOr<std::unique_ptr<TimelineIndex>> BuildIndexOfRange(
    const std::string& trace_path, const rmap::TableRange& range,
    const std::string& path, const logformat::ProgressCallback& progress,
    const std::string& shown_as = "");

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_OPEN_OPEN_OR_BUILD_H_
