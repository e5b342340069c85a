// Units of metrics: products of powers of ns, count and call.
//
// Values are computed in base units. A declared unit only sets how they are
// shown ("s", "percent", "1/s"); it must have the computed dimensions.
#ifndef COUNTRACE_RMAP_METRICS_METRIC_UNIT_H_
#define COUNTRACE_RMAP_METRICS_METRIC_UNIT_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace countrace::rmap::metrics {

// Exponents. All 0: a ratio. A call is not a count, so that count/call and
// count/count are different.
struct Dimensions {
  int time = 0, count = 0, call = 0;
  bool operator==(const Dimensions&) const = default;
};

// Absent if an exponent would leave [-9, 9]: no quantity has such a unit.
std::optional<Dimensions> Times(const Dimensions& a, const Dimensions& b);
std::optional<Dimensions> Over(const Dimensions& a, const Dimensions& b);
// Absent if an exponent is odd.
std::optional<Dimensions> SquareRoot(const Dimensions& a);
// The name for messages: "ns", "count/call", "ratio".
std::string DimensionsName(const Dimensions& dimensions);

struct MetricUnit {
  Dimensions dimensions;
  double scale = 1;  // of one unit, in base units
  // "1/s" does not name what is counted: count/ns fits as well as 1/ns.
  bool counts_anything = false;
  std::string text = "ratio";
};

// "ns", "us", "ms", "s", "count", "call", "ratio", "percent", "Hz".."GHz", "1",
// joined by '*' and '/', each with an optional "^INTEGER".
// Errors: kInvalidArgument with the word that is no unit.
absl::StatusOr<MetricUnit> ParseUnit(std::string_view text);
// The unit of a metric without a declared one: rates per second, else base
// units.
MetricUnit DefaultUnit(const Dimensions& dimensions);
bool Fits(const MetricUnit& declared, const Dimensions& computed);

}  // namespace countrace::rmap::metrics

#endif  // COUNTRACE_RMAP_METRICS_METRIC_UNIT_H_
