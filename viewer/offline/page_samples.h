// The samples of a trace, with the names of their code, for a page
// (stored_functions.h). Thread: any.
#ifndef COUNTRACE_VIEWER_OFFLINE_PAGE_SAMPLES_H_
#define COUNTRACE_VIEWER_OFFLINE_PAGE_SAMPLES_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "logformat/progress.h"
#include "logformat/read/trace_reader.h"
#include "rmap/pipeline.h"

namespace countrace::viewer {

// A page holds each sample, to have the numbers of any range: 6 bytes or so in
// the file, 24 in the browser's memory.
inline constexpr std::size_t kMostPageSamples = std::size_t{4} << 20;

// Bytes of rmap::NamedSamples. A trace with more than `most` samples in the
// range has a refusal in their place. Errors: of the reader; CANCELLED.
absl::StatusOr<std::string> SamplesForPage(
    logformat::TraceReader& reader, const rmap::TableRange& range,
    const logformat::ProgressCallback& progress,
    std::size_t most = kMostPageSamples);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_OFFLINE_PAGE_SAMPLES_H_
