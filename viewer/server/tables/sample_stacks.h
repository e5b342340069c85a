// The stacks of single samples of threads, for a flame over time.
//
// Thread: any.
#ifndef COUNTRACE_VIEWER_SERVER_TABLES_SAMPLE_STACKS_H_
#define COUNTRACE_VIEWER_SERVER_TABLES_SAMPLE_STACKS_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "rmap/result/samples.h"

namespace countrace::viewer {

// One answer has at most so many of a thread: a screen cannot show more.
inline constexpr std::size_t kMaxStackSamples = 512;

// `sample_stacks` of API.md: {functions, threads}, the samples of each of
// `threads` in [from_ns, to_ns), and the last one before, by time from
// `begin_ns` on. Null: the samples have no times.
nlohmann::json SampleStacks(const rmap::Samples& samples,
                            const std::vector<std::uint64_t>& threads,
                            std::uint64_t begin_ns, std::uint64_t from_ns,
                            std::uint64_t to_ns);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_TABLES_SAMPLE_STACKS_H_
