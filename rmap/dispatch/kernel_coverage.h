// What the kernel's records cover: the basis for the quality of on-CPU time.
//
// DispatchTracker writes it, SegmentBuilder reads it. Thread: one.
#ifndef COUNTRACE_RMAP_DISPATCH_KERNEL_COVERAGE_H_
#define COUNTRACE_RMAP_DISPATCH_KERNEL_COVERAGE_H_

#include <cstdint>

namespace countrace::rmap {

// A span's on-CPU time is exact if no loss lies in it and every CPU was
// recorded throughout.
struct KernelCoverage {
  bool any = false;              // dispatch records exist
  std::uint32_t loss_epoch = 0;  // incremented for each unattributed interval
  std::uint32_t lossy_cpus = 0;  // CPUs with a loss since their last dump
  std::uint64_t latest_begin_ns = 0;
  // The tables are of a range that begins here: of a call that is open then,
  // the rest counts. 0: they begin with the records.
  std::uint64_t range_begin_ns = 0;
  std::uint64_t earliest_end_ns = ~std::uint64_t{0};
  // In a pause (kept_time.h) states go on, and nothing is counted.
  bool paused = false;
  std::uint32_t pause_edges = 0;  // begins and ends of pauses so far
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_DISPATCH_KERNEL_COVERAGE_H_
