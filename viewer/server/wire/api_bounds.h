// How large an answer may be.
#ifndef COUNTRACE_VIEWER_SERVER_WIRE_API_BOUNDS_H_
#define COUNTRACE_VIEWER_SERVER_WIRE_API_BOUNDS_H_

#include <cstddef>

namespace countrace::viewer {

// Bounds named in API.md.
inline constexpr std::size_t kMaxTilesInRequest = 1024;
inline constexpr std::size_t kMaxTilesBytes = std::size_t{4} << 20;
inline constexpr std::size_t kMaxFrames = 120;
inline constexpr std::size_t kMaxFramesBytes = std::size_t{4} << 20;
inline constexpr std::size_t kPageItems = 1000;
inline constexpr std::size_t kMaxTableRows = 1000;
// That a table of a range by the report may read.
inline constexpr std::size_t kMaxReportedRecords = 30'000'000;
inline constexpr std::size_t kMaxComparedRows = 200;
inline constexpr std::size_t kMaxTreeRows = 500;
inline constexpr std::size_t kMaxTreeIntervals = 50;
// Records that trees over time read, all passes together: some seconds.
inline constexpr std::uint64_t kMostTreeRecords = 20'000'000;
inline constexpr std::size_t kMaxSourceLines = 20000;  // of a function
inline constexpr std::size_t kMaxHitsColumns = 2048;
inline constexpr std::size_t kMaxEvents = 200;
inline constexpr std::size_t kMaxRequests = 1000;
inline constexpr std::size_t kMaxRequestSpans = 16384;  // of all rows
inline constexpr std::size_t kMaxMessages = 1000;
inline constexpr std::size_t kMaxParents = 64;
inline constexpr std::size_t kMaxFound = 200;  // of each kind
inline constexpr std::size_t kHeaviest = 32;   // processes by weight in `trace`
inline constexpr std::size_t kHues = 12;       // of the page's palette
inline constexpr std::size_t kLevels = 64;     // rows of levels in `trace`

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_WIRE_API_BOUNDS_H_
