// A host's clock against UTC, by the samples in its trace: both clocks of the
// machine run at one speed, so that their difference is a constant, unless
// CLOCK_REALTIME was set. How far that is from UTC is what the kernel says
// (adjtimex(2), maxerror), which it lets grow by 500 ppm between two updates.
// Thread: any.
#ifndef COUNTRACE_RMAP_HOSTS_SAMPLED_CLOCK_H_
#define COUNTRACE_RMAP_HOSTS_SAMPLED_CLOCK_H_

#include <cstdint>
#include <optional>

#include "logformat/read/clock_samples.h"
#include "rmap/hosts/host_clock.h"

namespace countrace::rmap {

// CLOCK_MONOTONIC plus this is UTC, somewhere between the two.
struct UtcOffset {
  std::int64_t least_ns = 0, most_ns = 0;
};

// Absent: there are no samples, some are lost, or one says that the clock
// follows none.
// `end_ns`: of the trace, which the last sample may be before.
std::optional<UtcOffset> UtcOffsetOf(const logformat::ClockSamples& samples,
                                     std::uint64_t end_ns);

// How far CLOCK_MONOTONIC was at most from one of even speed, ns: by what the
// samples say of its corrections (adjtimex(2)), of the frequency and those that
// were under way. 0: they were the same all the time, or are not known.
double UnevenNs(const logformat::ClockSamples& samples, std::uint64_t begin_ns,
                std::uint64_t end_ns);

// The clock of `host` on that of `first`, both against UTC.
HostClock ClockByUtc(const UtcOffset& first, const UtcOffset& host);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_HOSTS_SAMPLED_CLOCK_H_
