#include "rmap/hosts/sampled_clock.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace countrace::rmap {
namespace {

// MAXFREQ of the kernel, 500 ppm: in so many ns the error may grow by one.
constexpr std::int64_t kNsPerError = 2'000;
constexpr double kOfFrequency = 65'536e6;  // 2^-16 ppm

}  // namespace

std::optional<UtcOffset> UtcOffsetOf(const logformat::ClockSamples& samples,
                                     std::uint64_t end_ns) {
  std::optional<UtcOffset> all;
  // What is lost may have been of a clock that followed nothing, or was set.
  if (!samples.damage.empty()) return all;
  const auto& list = samples.samples;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const logformat::ClockSample& sample = list[i];
    if (!sample.synchronised()) return std::nullopt;
    // The error that it had just before the next sample's update.
    const std::uint64_t until = i + 1 < list.size()
                                    ? list[i + 1].monotonic_ns
                                    : std::max(end_ns, sample.monotonic_ns);
    const auto grown =
        static_cast<std::int64_t>(until - sample.monotonic_ns) / kNsPerError;
    const std::int64_t error =
        static_cast<std::int64_t>(sample.max_error_us) * 1000 + grown +
        static_cast<std::int64_t>(sample.width_ns);
    const std::int64_t offset = sample.realtime_offset_ns();
    if (!all) all = {offset - error, offset + error};
    all->least_ns = std::min(all->least_ns, offset - error);
    all->most_ns = std::max(all->most_ns, offset + error);
  }
  return all;
}

double UnevenNs(const logformat::ClockSamples& samples, std::uint64_t begin_ns,
                std::uint64_t end_ns) {
  std::int64_t least = INT64_MAX, most = INT64_MIN;
  double offsets_ns = 0;
  for (const logformat::ClockSample& sample : samples.samples) {
    if (sample.state < 0) continue;
    least = std::min(least, sample.frequency);
    most = std::max(most, sample.frequency);
    offsets_ns += std::abs(static_cast<double>(sample.offset_ns));
  }
  if (least > most) return 0;
  // From an even clock of the middle speed, which is right in the middle.
  const double speed = static_cast<double>(most - least) / 2 / kOfFrequency;
  return offsets_ns + speed * static_cast<double>(end_ns - begin_ns) / 2;
}

HostClock ClockByUtc(const UtcOffset& first, const UtcOffset& host) {
  const std::int64_t least = host.least_ns - first.most_ns;
  const std::int64_t most = host.most_ns - first.least_ns;
  const std::int64_t middle = least + (most - least) / 2;
  const auto half = static_cast<double>(most - middle);
  return {"clock samples",
          0,
          middle,
          ClockLine{},
          {ClockLine{-half, 0}, ClockLine{half, 0}}};
}

}  // namespace countrace::rmap
