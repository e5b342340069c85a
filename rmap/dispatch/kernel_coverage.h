// What the kernel's records cover, so that on-CPU time of a span can be
// trusted.
//
// DispatchTracker writes it, SegmentBuilder reads it. Thread: one.
#ifndef COUNTRACE_RMAP_DISPATCH_KERNEL_COVERAGE_H_
#define COUNTRACE_RMAP_DISPATCH_KERNEL_COVERAGE_H_

#include <cstdint>

namespace countrace::rmap {

// How far on-CPU time of a span can be trusted. A span is exact if no loss lies
// in it and every CPU was recorded throughout.
struct KernelCoverage {
  bool any = false;              // there are dispatch records at all
  bool cut = false;              // a CPU has no last dump: found at the end
  std::uint32_t loss_epoch = 0;  // bumped whenever an interval is unattributed
  std::uint32_t lossy_cpus = 0;  // CPUs with a loss since their last dump
  std::uint64_t latest_begin_ns = 0;
  std::uint64_t earliest_end_ns = ~std::uint64_t{0};
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_DISPATCH_KERNEL_COVERAGE_H_
