#include "rmap/hosts/message_clock.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace countrace::rmap {
namespace {

// offset + drift * at <= most (or >=, with both sides negated).
struct Limit {
  double at, most;
};
using Polygon = std::vector<ClockLine>;  // corners in order

// Corners are rounded by less, and times are whole ns.
constexpr double kRoundedNs = 0.01;

// Those of `limits` that no two others imply: the lower hull of the points.
std::vector<Limit> HullOf(std::vector<Limit> limits) {
  std::ranges::sort(limits, [](const Limit& a, const Limit& b) {
    return a.at != b.at ? a.at < b.at : a.most < b.most;
  });
  std::vector<Limit> hull;
  for (const Limit& next : limits) {
    if (!hull.empty() && hull.back().at == next.at) continue;
    while (hull.size() >= 2) {
      const Limit &a = hull[hull.size() - 2], &b = hull.back();
      // b is on or above the line from a to next.
      if ((b.most - a.most) * (next.at - a.at) <
          (next.most - a.most) * (b.at - a.at)) {
        break;
      }
      hull.pop_back();
    }
    hull.push_back(next);
  }
  return hull;
}

// The part of `polygon` where sign * (offset + drift * at) <= most.
Polygon Cut(const Polygon& polygon, const Limit& limit, double sign) {
  Polygon kept;
  const auto excess = [&](const ClockLine& corner) {
    return sign * corner.At(limit.at) - limit.most - kRoundedNs;
  };
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const ClockLine &a = polygon[i], &b = polygon[(i + 1) % polygon.size()];
    const double of_a = excess(a), of_b = excess(b);
    if (of_a <= 0) kept.push_back(a);
    if ((of_a < 0) == (of_b < 0) || of_a == 0 || of_b == 0) continue;
    const double part = of_a / (of_a - of_b);
    kept.push_back({a.offset_ns + part * (b.offset_ns - a.offset_ns),
                    a.drift + part * (b.drift - a.drift)});
  }
  return kept;
}

// What limits from above, and from below (negated), leave. Empty: nothing.
Polygon PolygonOf(const std::vector<Limit>& above,
                  const std::vector<Limit>& below) {
  double most = 1;
  for (const auto* limits : {&above, &below}) {
    for (const Limit& limit : *limits) {
      most = std::max(most,
                      std::abs(limit.most) + kMostDrift * std::abs(limit.at));
    }
  }
  most *= 2;
  Polygon polygon = {{-most, -kMostDrift},
                     {most, -kMostDrift},
                     {most, kMostDrift},
                     {-most, kMostDrift}};
  for (const Limit& limit : HullOf(above)) polygon = Cut(polygon, limit, 1);
  for (const Limit& limit : HullOf(below)) polygon = Cut(polygon, limit, -1);
  return polygon;
}

// Where the limits hold for a clock that is at most `uneven_ns` from a line:
// all that it may have shown.
Polygon WithUneven(std::vector<Limit> above, std::vector<Limit> below,
                   double uneven_ns) {
  for (auto* limits : {&above, &below}) {
    for (Limit& limit : *limits) limit.most += uneven_ns;
  }
  Polygon all;
  for (const ClockLine& line : PolygonOf(above, below)) {
    all.push_back({line.offset_ns - uneven_ns, line.drift});
    all.push_back({line.offset_ns + uneven_ns, line.drift});
  }
  return all;
}

// A line of the polygon, near the middle at both ends of the trace: the mean of
// the corners that are outermost there.
ClockLine MiddleOf(const Polygon& polygon, double end) {
  ClockLine sum;
  for (const double at : {0.0, end}) {
    const auto by = [at](const ClockLine& a, const ClockLine& b) {
      return a.At(at) < b.At(at);
    };
    const auto [least, most] = std::ranges::minmax_element(polygon, by);
    sum.offset_ns += (least->offset_ns + most->offset_ns) / 4;
    sum.drift += (least->drift + most->drift) / 4;
  }
  return sum;
}

std::int64_t Difference(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::int64_t>(a - b);
}

}  // namespace

absl::StatusOr<HostClock> ClockOfMessages(const std::string& how,
                                          const std::vector<ClockLimit>& limits,
                                          double uneven_ns) {
  const auto after = std::ranges::count(limits, true, &ClockLimit::is_after);
  if (after == 0 || static_cast<std::size_t>(after) == limits.size()) {
    return absl::FailedPreconditionError(
        "messages went one way only, which limits the clocks on one side: "
        "answers, too, must be among --pairs");
  }
  const auto [first, last] =
      std::ranges::minmax_element(limits, {}, &ClockLimit::own_ns);
  const std::uint64_t base = first->own_ns;
  const std::int64_t offset = Difference(first->common_ns, base);
  std::vector<Limit> above, below, sure_above, sure_below;
  for (const ClockLimit& limit : limits) {
    const auto at = static_cast<double>(limit.own_ns - base);
    const auto most = [&](std::uint64_t common) {
      return static_cast<double>(Difference(common, limit.own_ns) - offset);
    };
    if (limit.is_after) {
      below.push_back({at, -most(limit.common_ns)});
      sure_below.push_back({at, -most(limit.least_common_ns)});
    } else {
      above.push_back({at, most(limit.common_ns)});
      sure_above.push_back({at, most(limit.most_common_ns)});
    }
  }
  Polygon possible = PolygonOf(sure_above, sure_below);
  if (possible.empty()) {
    return absl::FailedPreconditionError(
        "no clock of even speed, within 1,000 ppm, receives all messages after "
        "they were sent: a clock was set meanwhile, changed its speed, or "
        "--pairs join messages that are not the same");
  }
  // As the other clocks were chosen, so that no answer is before its question;
  // where they leave nothing, as they may be.
  const Polygon fitting = PolygonOf(above, below);
  const auto end = static_cast<double>(last->own_ns - base);
  const ClockLine chosen = MiddleOf(fitting.empty() ? possible : fitting, end);
  if (uneven_ns > 0) possible = WithUneven(sure_above, sure_below, uneven_ns);
  return HostClock(how, base, offset, chosen, std::move(possible));
}

}  // namespace countrace::rmap
