// The samples of a trace, with the names of their code, for a page
// (stored_functions.h). Thread: any.
#ifndef COUNTRACE_VIEWER_OFFLINE_PAGE_SAMPLES_H_
#define COUNTRACE_VIEWER_OFFLINE_PAGE_SAMPLES_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "logformat/progress.h"
#include "logformat/read/trace_reader.h"
#include "rmap/pipeline.h"

namespace countrace::viewer {

// A page holds each sample, to have the numbers of any range: some 3 bytes in
// the file, 24 in the browser's memory.
inline constexpr std::size_t kMostPageSamples = std::size_t{4} << 20;

// Bytes of rmap::NamedSamples; RefusedSamples() of a trace with more than
// `most` samples in the range. Errors: of the reader; CANCELLED.
absl::StatusOr<std::string> SamplesForPage(
    logformat::TraceReader& reader, const rmap::TableRange& range,
    const logformat::ProgressCallback& progress,
    std::size_t most = kMostPageSamples);

// The same bytes with the reason why they hold no samples.
std::string RefusedSamples(std::uint64_t samples, std::size_t most);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_OFFLINE_PAGE_SAMPLES_H_
