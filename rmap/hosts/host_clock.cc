#include "rmap/hosts/host_clock.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace countrace::rmap {

HostClock::HostClock(std::string how, std::uint64_t base_ns,
                     std::int64_t offset_ns, ClockLine chosen,
                     std::vector<ClockLine> corners)
    : how_(std::move(how)),
      base_ns_(base_ns),
      offset_ns_(offset_ns),
      chosen_(chosen),
      corners_(std::move(corners)) {}

double HostClock::SinceBase(std::uint64_t own_ns) const {
  return own_ns >= base_ns_ ? static_cast<double>(own_ns - base_ns_)
                            : -static_cast<double>(base_ns_ - own_ns);
}

std::uint64_t HostClock::Shifted(std::uint64_t own_ns, double by_ns) const {
  // Modulo 2^64, so that neither sum can overflow; no time is before 0.
  const auto shift = static_cast<std::uint64_t>(offset_ns_) +
                     static_cast<std::uint64_t>(std::llround(by_ns));
  const auto back =
      static_cast<std::uint64_t>(-static_cast<std::int64_t>(shift));
  if (static_cast<std::int64_t>(shift) < 0 && back > own_ns) return 0;
  return own_ns + shift;
}

std::uint64_t HostClock::Common(std::uint64_t own_ns) const {
  return Shifted(own_ns, chosen_.At(SinceBase(own_ns)));
}

std::uint64_t HostClock::Own(std::uint64_t common_ns) const {
  std::uint64_t own = common_ns;
  // Each step leaves at most `drift` of the error before.
  for (int step = 0; step < 8; ++step) {
    own -= Common(own) - common_ns;
  }
  return own;
}

std::uint64_t HostClock::LeastCommon(std::uint64_t own_ns) const {
  double least = chosen_.At(SinceBase(own_ns));
  for (const ClockLine& line : corners_) {
    least = std::min(least, line.At(SinceBase(own_ns)));
  }
  return Shifted(own_ns, std::floor(least));
}

std::uint64_t HostClock::MostCommon(std::uint64_t own_ns) const {
  double most = chosen_.At(SinceBase(own_ns));
  for (const ClockLine& line : corners_) {
    most = std::max(most, line.At(SinceBase(own_ns)));
  }
  return Shifted(own_ns, std::ceil(most));
}

double HostClock::least_drift() const {
  double least = chosen_.drift;
  for (const ClockLine& line : corners_) least = std::min(least, line.drift);
  return least;
}

double HostClock::most_drift() const {
  double most = chosen_.drift;
  for (const ClockLine& line : corners_) most = std::max(most, line.drift);
  return most;
}

std::uint64_t HostClock::WithinNs(std::uint64_t own_ns) const {
  if (is_exact()) return 0;
  const std::uint64_t common = Common(own_ns);
  return std::max(common - LeastCommon(own_ns), MostCommon(own_ns) - common);
}

HostClock HostClock::Through(const HostClock& other) const {
  // common = y + o2 + d2 * (y - base2), with y = x + o1 + d1 * (x - base1).
  const auto joined = [&](const ClockLine& first, const ClockLine& second) {
    const double since =
        other.SinceBase(Shifted(base_ns_, 0)) + first.offset_ns;
    return ClockLine{first.offset_ns + second.At(since),
                     first.drift + second.drift + first.drift * second.drift};
  };
  std::vector<ClockLine> corners;
  const std::vector<ClockLine> here =
      corners_.empty() ? std::vector<ClockLine>{chosen_} : corners_;
  const std::vector<ClockLine> there =
      other.corners_.empty() ? std::vector<ClockLine>{other.chosen_}
                             : other.corners_;
  for (const ClockLine& first : here) {
    for (const ClockLine& second : there) {
      corners.push_back(joined(first, second));
    }
  }
  if (is_exact() && other.is_exact()) corners.clear();
  return {how_, base_ns_, offset_ns_ + other.offset_ns_,
          joined(chosen_, other.chosen_), std::move(corners)};
}

}  // namespace countrace::rmap
