#include "rmap/metrics/estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "rmap/state/call_paths.h"

namespace countrace::rmap::metrics {
namespace {

using Slopes = std::vector<std::pair<std::uint64_t, double>>;

// Combines the quality and certainty of two operands.
Estimate Joined(const Estimate& a, const Estimate& b, double value) {
  Estimate out;
  out.value = value;
  out.quality = Worse(a.quality, b.quality);
  out.errors_known = a.errors_known && b.errors_known;
  return out;
}

// Slopes of f(a, b), by the chain rule.
void Chain(const Estimate& a, double by_a, const Estimate& b, double by_b,
           Estimate& out) {
  AddSlopes(a.slopes, by_a, out.slopes);
  AddSlopes(b.slopes, by_b, out.slopes);
}

// Widens an interval by the rounding error. A point stays a point: it is as
// exact as the value. Returns none if an end is not finite.
std::optional<Interval> Outward(double lo, double hi) {
  if (!std::isfinite(lo) || !std::isfinite(hi)) return std::nullopt;
  if (lo == hi) return Interval{lo, hi};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return Interval{std::nextafter(lo, -kInfinity),
                  std::nextafter(hi, kInfinity)};
}

template <typename Function>
void Ends(const Estimate& a, const Estimate& b, const Function& f,
          Estimate& out) {
  if (!a.interval || !b.interval) return;
  const auto [lo, hi] = std::minmax(
      {f(a.interval->lo, b.interval->lo), f(a.interval->lo, b.interval->hi),
       f(a.interval->hi, b.interval->lo), f(a.interval->hi, b.interval->hi)});
  // 0 * inf and inf - inf: no bound.
  if (std::isnan(lo) || std::isnan(hi)) return;
  out.interval = Outward(lo, hi);
}

}  // namespace

std::uint64_t InputErrors::Add(double own, double shared, std::uint64_t group) {
  sources_.push_back({own, shared, group});
  return sources_.size();
}

double InputErrors::StandardError(const Estimate& estimate) const {
  double variance = 0;
  std::map<std::uint64_t, double> shared;  // by group
  for (const auto& [id, slope] : estimate.slopes) {
    const Source& source = sources_[id - 1];
    variance += slope * source.own * slope * source.own;
    if (source.shared != 0) shared[source.group] += slope * source.shared;
  }
  for (const auto& [group, error] : shared) variance += error * error;
  return std::sqrt(variance);
}

void AddSlopes(const Slopes& b, double factor, Slopes& a) {
  if (b.empty() || factor == 0) return;
  Slopes sum;
  sum.reserve(a.size() + b.size());
  auto left = a.begin();
  for (const auto& [id, slope] : b) {
    while (left != a.end() && left->first < id) sum.push_back(*left++);
    double total = factor * slope;
    if (left != a.end() && left->first == id) total += (left++)->second;
    sum.emplace_back(id, total);
  }
  sum.insert(sum.end(), left, a.end());
  a = std::move(sum);
}

Estimate FromMeasured(const Measured& input, std::uint64_t id) {
  Estimate out;
  out.value = input.value;
  out.quality = input.quality;
  switch (input.quality) {
    case Quality::kExact:
      out.interval = Interval{input.value, input.value};
      break;
    case Quality::kBounded:
      if (input.lo && input.hi) out.interval = Interval{*input.lo, *input.hi};
      break;
    case Quality::kScaled:
      out.errors_known = input.standard_error.has_value();
      if (id != 0) out.slopes.emplace_back(id, 1.0);
      break;
    case Quality::kInferred:
      break;
  }
  return out;
}

Estimate Constant(double value) {
  Estimate out;
  out.value = value;
  out.interval = Interval{value, value};
  return out;
}

Estimate Negated(const Estimate& a) {
  Estimate out = a;
  out.value = -a.value;
  if (a.interval) out.interval = Interval{-a.interval->hi, -a.interval->lo};
  for (auto& [id, slope] : out.slopes) slope = -slope;
  return out;
}

Estimate Sum(const Estimate& a, const Estimate& b) {
  Estimate out = Joined(a, b, a.value + b.value);
  Chain(a, 1, b, 1, out);
  Ends(
      a, b, [](double x, double y) { return x + y; }, out);
  return out;
}

Estimate Difference(const Estimate& a, const Estimate& b) {
  Estimate out = Joined(a, b, a.value - b.value);
  Chain(a, 1, b, -1, out);
  Ends(
      a, b, [](double x, double y) { return x - y; }, out);
  return out;
}

Estimate Product(const Estimate& a, const Estimate& b) {
  Estimate out = Joined(a, b, a.value * b.value);
  Chain(a, b.value, b, a.value, out);
  Ends(
      a, b, [](double x, double y) { return x * y; }, out);
  return out;
}

Estimate Quotient(const Estimate& a, const Estimate& b) {
  Estimate out = Joined(a, b, a.value / b.value);
  Chain(a, 1 / b.value, b, -a.value / (b.value * b.value), out);
  // No bound follows if the divisor can be 0.
  if (b.interval && (b.interval->lo > 0 || b.interval->hi < 0)) {
    Ends(
        a, b, [](double x, double y) { return x / y; }, out);
  }
  return out;
}

Estimate Least(const Estimate& a, const Estimate& b) {
  const bool first = a.value <= b.value;
  Estimate out = Joined(a, b, first ? a.value : b.value);
  Chain(a, first ? 1 : 0, b, first ? 0 : 1, out);
  if (a.interval && b.interval) {
    out.interval = Interval{std::min(a.interval->lo, b.interval->lo),
                            std::min(a.interval->hi, b.interval->hi)};
  }
  return out;
}

Estimate Greatest(const Estimate& a, const Estimate& b) {
  return Negated(Least(Negated(a), Negated(b)));
}

Estimate Absolute(const Estimate& a) {
  Estimate out = a.value < 0 ? Negated(a) : a;
  if (a.interval && a.interval->lo < 0 && a.interval->hi > 0) {
    out.interval = Interval{0, std::max(-a.interval->lo, a.interval->hi)};
  }
  return out;
}

Estimate SquareRoot(const Estimate& a) {
  Estimate out = Joined(a, a, std::sqrt(a.value));
  // At 0 the slope is infinite, so the error is unknown.
  if (a.value > 0) {
    AddSlopes(a.slopes, 0.5 / out.value, out.slopes);
  } else if (!a.slopes.empty()) {
    out.errors_known = false;
  }
  if (a.interval) {
    // Impossible values are cut off: the operand cannot be negative.
    out.interval = Outward(std::sqrt(std::max(0.0, a.interval->lo)),
                           std::sqrt(std::max(0.0, a.interval->hi)));
  }
  return out;
}

}  // namespace countrace::rmap::metrics
