#include "rmap/metrics/metric_unit.h"

#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_parse.h"

namespace countrace::rmap::metrics {
namespace {

constexpr int kMaxExponent = 9;
constexpr std::size_t kMaxText = 64;

struct NamedUnit {
  std::string_view name;
  Dimensions dimensions;
  double scale;
};
constexpr NamedUnit kUnits[] = {
    {"1", {}, 1},
    {"ratio", {}, 1},
    {"percent", {}, 0.01},
    {"count", {.count = 1}, 1},
    {"call", {.call = 1}, 1},
    {"Hz", {.time = -1, .count = 1}, 1e-9},
    {"kHz", {.time = -1, .count = 1}, 1e-6},
    {"MHz", {.time = -1, .count = 1}, 1e-3},
    {"GHz", {.time = -1, .count = 1}, 1},
};

// The base units and the units of time.
const std::vector<NamedUnit>& KnownUnits() {
  static const auto* const units = [] {
    auto* all =
        new std::vector<NamedUnit>(std::begin(kUnits), std::end(kUnits));
    for (const base::TimeUnit& unit : base::kTimeUnits) {
      all->push_back({unit.name, {.time = 1}, static_cast<double>(unit.ns)});
    }
    return all;
  }();
  return *units;
}

std::optional<Dimensions> Bounded(const Dimensions& d) {
  for (const int exponent : {d.time, d.count, d.call}) {
    if (std::abs(exponent) > kMaxExponent) return std::nullopt;
  }
  return d;
}

// Multiplies by one factor, "ns" or "ns^2".
absl::Status Multiply(std::string_view factor, bool divides, MetricUnit& unit) {
  int power = 1;
  std::string_view name = factor;
  if (const std::size_t hat = factor.find('^'); hat != name.npos) {
    name = factor.substr(0, hat);
    const std::string digits(factor.substr(hat + 1));
    if (!absl::SimpleAtoi(digits, &power) || power < 1 ||
        power > kMaxExponent) {
      return absl::InvalidArgumentError(
          absl::StrFormat("`%s` is no power; write ^1 to ^%d",
                          base::EscapeName(factor), kMaxExponent));
    }
  }
  for (const NamedUnit& known : KnownUnits()) {
    if (known.name != name) continue;
    for (int i = 0; i < power; ++i) {
      const auto next = divides ? Over(unit.dimensions, known.dimensions)
                                : Times(unit.dimensions, known.dimensions);
      if (!next) return absl::InvalidArgumentError("its powers are too high");
      unit.dimensions = *next;
      unit.scale =
          divides ? unit.scale / known.scale : unit.scale * known.scale;
    }
    return absl::OkStatus();
  }
  std::string names;
  for (const NamedUnit& known : KnownUnits()) {
    absl::StrAppend(&names, names.empty() ? "" : ", ",
                    absl::string_view(known.name.data(), known.name.size()));
  }
  return absl::InvalidArgumentError(
      absl::StrFormat("`%s` is no unit; known are %s, joined by * and /",
                      base::EscapeName(name), names));
}

void AppendPower(const char* name, int exponent, std::string& out) {
  if (exponent <= 0) return;
  if (!out.empty()) out += '*';
  out += name;
  if (exponent > 1) absl::StrAppend(&out, "^", exponent);
}

}  // namespace

std::optional<Dimensions> Times(const Dimensions& a, const Dimensions& b) {
  return Bounded({a.time + b.time, a.count + b.count, a.call + b.call});
}

std::optional<Dimensions> Over(const Dimensions& a, const Dimensions& b) {
  return Bounded({a.time - b.time, a.count - b.count, a.call - b.call});
}

std::optional<Dimensions> SquareRoot(const Dimensions& a) {
  if (a.time % 2 != 0 || a.count % 2 != 0 || a.call % 2 != 0) {
    return std::nullopt;
  }
  return Dimensions{a.time / 2, a.count / 2, a.call / 2};
}

std::string DimensionsName(const Dimensions& d) {
  std::string above, below;
  AppendPower("count", d.count, above);
  AppendPower("call", d.call, above);
  AppendPower("ns", d.time, above);
  AppendPower("count", -d.count, below);
  AppendPower("call", -d.call, below);
  AppendPower("ns", -d.time, below);
  if (above.empty() && below.empty()) return "ratio";
  if (above.empty()) above = "1";
  for (std::size_t at; (at = below.find('*')) != below.npos;) below[at] = '/';
  return below.empty() ? above : above + "/" + below;
}

absl::StatusOr<MetricUnit> ParseUnit(std::string_view text) {
  MetricUnit unit;
  unit.text = std::string(text);
  unit.counts_anything = text.substr(0, 2) == "1/";
  if (text.size() > kMaxText) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "it has %d characters, at most %d are read", text.size(), kMaxText));
  }
  bool divides = false;
  while (true) {
    const std::size_t end = text.find_first_of("*/");
    const absl::Status status = Multiply(text.substr(0, end), divides, unit);
    if (!status.ok()) return status;
    if (end == text.npos) return unit;
    divides = text[end] == '/';
    text.remove_prefix(end + 1);
  }
}

MetricUnit DefaultUnit(const Dimensions& dimensions) {
  MetricUnit unit;
  unit.dimensions = dimensions;
  unit.text = DimensionsName(dimensions);
  // A rate per second is easier to read.
  if (dimensions.time == -1) {
    unit.scale = 1e-9;
    unit.text.replace(unit.text.rfind("ns"), 2, "s");
  }
  return unit;
}

bool Fits(const MetricUnit& declared, const Dimensions& computed) {
  Dimensions known = declared.dimensions;
  if (known == computed) return true;
  if (!declared.counts_anything || computed.count != 1) return false;
  known.count += 1;
  return known == computed;
}

}  // namespace countrace::rmap::metrics
