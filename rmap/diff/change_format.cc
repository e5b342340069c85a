#include "rmap/diff/change_format.h"

#include <cmath>
#include <cstdint>

#include "absl/strings/str_format.h"
#include "base/text/quantity_format.h"

namespace countrace::rmap::diff {

std::string FormatAmount(double value, bool is_time) {
  if (value < 0) return "-" + FormatAmount(-value, is_time);
  if (is_time) {
    // In a call of a few ns, parts of a ns matter.
    if (value > 0 && value < 99.95) return absl::StrFormat("%.3g ns", value);
    return base::FormatNanoseconds(value);
  }
  if (value >= 9e18) return absl::StrFormat("%.3g", value);
  if (value >= 1000 || value == std::floor(value)) {
    return base::FormatCount(static_cast<std::uint64_t>(std::llround(value)));
  }
  return absl::StrFormat("%.3g", value);
}

std::string FormatEstimate(double value, const SamplingError& error,
                           bool is_time) {
  const std::string amount = FormatAmount(value, is_time);
  if (!error.any()) return amount;
  const double half = error.HalfWidth95();
  return "~" + amount + " +-" +
         (std::isinf(half) ? "?" : FormatAmount(half, is_time));
}

std::string FormatSigned(double value, bool is_time) {
  if (value == 0) return "0";
  return (value > 0 ? "+" : "") + FormatAmount(value, is_time);
}

// Few runs that differ much say nothing of how much it may be.
constexpr double kMostRatio = 1e6;

std::string FormatInterval(const Change& change, bool is_time) {
  if (!change.interval) return "";
  const auto end = [&](double value) -> std::string {
    if (!(change.before > 0)) {
      if (std::isinf(value)) return value > 0 ? "any" : "-any";
      return FormatSigned(value, is_time);
    }
    if (change.before + value <= 0) return "-100 %";
    if (value > kMostRatio * change.before) return "any";
    return FormatRatio(change.before, change.before + value);
  };
  return "[" + end(change.interval->low) + ", " + end(change.interval->high) +
         "]";
}

std::string FormatRatio(double before, double after) {
  if (before == after) return "0 %";
  if (before <= 0) return before == 0 ? "new" : "-";
  const double ratio = after / before;
  if (ratio == 0) return "gone";
  if (ratio >= 2 && ratio < 99.5) return absl::StrFormat("%.3gx", ratio);
  if (ratio >= 99.5) {
    return base::FormatCount(static_cast<std::uint64_t>(std::llround(ratio))) +
           "x";
  }
  return absl::StrFormat("%+.*f %%", std::fabs(ratio - 1) < 0.0995 ? 1 : 0,
                         100 * (ratio - 1));
}

std::string FormatPercent(double share) {
  if (std::fabs(share) < 0.0005) return "0 %";
  return absl::StrFormat("%.*f %%", std::fabs(share) < 0.0995 ? 1 : 0,
                         100 * share);
}

std::string FormatDetectable(double part) {
  if (part < 0.001) return "<0.1 %";
  if (part < 9.95) return FormatPercent(part);
  return absl::StrFormat("%.2gx", 1 + part);
}

const char* QualityMark(Quality quality) {
  switch (quality) {
    case Quality::kExact:
      return "";
    case Quality::kScaled:
      return "s";
    case Quality::kBounded:
      return "b";
    case Quality::kInferred:
      return "i";
  }
  return "?";
}

std::string PathText(const std::vector<std::string>& path) {
  if (path.empty()) return "(outside segments)";
  std::string text;
  for (const std::string& segment : path) {
    text += (text.empty() ? "" : " > ") + segment;
  }
  return text;
}

std::string ShortName(const RowChange& row) {
  if (!row.path.empty()) return row.path.back();
  return ProcessText(row) + " outside its segments";
}

std::string ProcessText(const RowChange& row) {
  return row.process.empty() ? "(no name)" : row.process;
}

}  // namespace countrace::rmap::diff
