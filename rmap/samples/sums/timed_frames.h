// Stacks with the functions that had the code at the time of a sample, where
// several had it one after the other.
//
// Thread: one.
#ifndef COUNTRACE_RMAP_SAMPLES_SUMS_TIMED_FRAMES_H_
#define COUNTRACE_RMAP_SAMPLES_SUMS_TIMED_FRAMES_H_

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "rmap/result/samples.h"

namespace countrace::rmap {

class TimedFrames {
 public:
  // Looks for Samples::timed_symbols, and adds frames; `samples` must outlive
  // it.
  explicit TimedFrames(Samples& samples);

  // The frame as it was at this time: one of its own where the time decides on
  // its name, or on that of a frame that called it.
  std::uint32_t At(std::uint32_t frame, std::uint64_t time_ns);

 private:
  // 1 + index of the symbol; 0: none.
  std::uint32_t SymbolAt(const StackFrame& frame, std::uint64_t time_ns) const;

  Samples& samples_;
  // Indices of symbols by file and begin, and where the last one of those of
  // the file up to each ends.
  std::vector<std::uint32_t> order_;
  std::vector<std::uint64_t> ends_;
  // By parent, frame and symbol.
  absl::flat_hash_map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>,
                      std::uint32_t>
      frames_;
  std::vector<std::uint32_t> chain_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_SUMS_TIMED_FRAMES_H_
