#include "base/text/quantity_format.h"

#include <cstddef>
#include <iterator>

#include "absl/strings/str_format.h"

namespace countrace::base {

std::string FormatCount(std::uint64_t value) {
  const std::string digits = std::to_string(value);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string FormatShortCount(double value) {
  constexpr const char* kUnits[] = {"k", "M", "G", "T", "P", "E"};
  if (value < 100'000) return FormatCount(static_cast<std::uint64_t>(value));
  std::size_t unit = 0;
  for (value /= 1000; value >= 999.5 && unit + 1 < std::size(kUnits); ++unit) {
    value /= 1000;
  }
  const int digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return absl::StrFormat("%.*f %s", digits, value, kUnits[unit]);
}

std::string FormatNanoseconds(double ns) {
  struct Scale {
    double ns;
    const char* unit;
  };
  static constexpr Scale kScales[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};
  if (ns == 0) return "0";
  for (const Scale& scale : kScales) {
    // 999.5 of the next smaller unit would be rounded to 1000.
    if (ns < scale.ns * 0.9995) continue;
    const double value = ns / scale.ns;
    const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return absl::StrFormat("%.*f %s", decimals, value, scale.unit);
  }
  return absl::StrFormat("%.0f ns", ns);
}

std::string FormatInstant(std::uint64_t since_begin_ns) {
  return absl::StrFormat("%d.%06d s", since_begin_ns / 1'000'000'000,
                         since_begin_ns % 1'000'000'000 / 1000);
}

std::string FormatSeconds(std::uint64_t ns) {
  return absl::StrFormat("%d.%09d", ns / 1'000'000'000, ns % 1'000'000'000);
}

std::string FormatClock(std::uint64_t duration_ns) {
  const std::uint64_t seconds = duration_ns / 1'000'000'000;
  if (seconds < 3600) {
    return absl::StrFormat("%d:%02d", seconds / 60, seconds % 60);
  }
  return absl::StrFormat("%d:%02d:%02d", seconds / 3600, seconds / 60 % 60,
                         seconds % 60);
}

std::string FormatBytes(std::uint64_t bytes) {
  if (bytes < 1024) return absl::StrFormat("%d B", bytes);
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

std::string FormatShare(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "-";
  return absl::StrFormat(
      "%.1f %%", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace countrace::base
