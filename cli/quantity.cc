#include "cli/quantity.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"

namespace countrace::cli {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

}  // namespace

std::optional<std::uint64_t> ParseBytes(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc()) return std::nullopt;
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (unit.empty() || unit == "B") return value;
  constexpr std::string_view kPrefixes = "KMGT";
  const char prefix = unit[0] == 'k' ? 'K' : unit[0];
  const std::size_t power = kPrefixes.find(prefix);
  if (power == std::string_view::npos) return std::nullopt;
  unit.remove_prefix(1);
  if (!unit.empty() && unit != "B" && unit != "iB") return std::nullopt;
  const unsigned shift = 10 * (static_cast<unsigned>(power) + 1);
  if (value > (kMax >> shift)) return std::nullopt;
  return value << shift;
}

std::optional<std::uint64_t> ParseDuration(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] =
      std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  constexpr struct {
    std::string_view name;
    double ns;
  } kUnits[] = {{"", 1e9},   {"s", 1e9},  {"ms", 1e6},   {"us", 1e3},
                {"ns", 1.0}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}};
  for (const auto& known : kUnits) {
    if (unit != known.name) continue;
    const double ns = std::round(value * known.ns);
    // 2^63 ns is 292 years; NaN fails both comparisons.
    if (!(ns >= 1 && ns < 9.2e18)) return std::nullopt;
    return static_cast<std::uint64_t>(ns);
  }
  return std::nullopt;
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

std::string FormatDuration(std::uint64_t time_ns) {
  if (time_ns < 1000) return absl::StrFormat("%d ns", time_ns);
  const double ns = static_cast<double>(time_ns);
  if (time_ns < 1'000'000) return absl::StrFormat("%.1f us", ns / 1e3);
  if (time_ns < 1'000'000'000) return absl::StrFormat("%.1f ms", ns / 1e6);
  return absl::StrFormat("%.2f s", ns / 1e9);
}

std::string FormatClock(std::uint64_t duration_ns) {
  const std::uint64_t seconds = duration_ns / 1'000'000'000;
  if (seconds < 3600) {
    return absl::StrFormat("%d:%02d", seconds / 60, seconds % 60);
  }
  return absl::StrFormat("%d:%02d:%02d", seconds / 3600, seconds / 60 % 60,
                         seconds % 60);
}

std::string FormatCount(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t at = digits.size(); at > 3; at -= 3) {
    digits.insert(at - 3, ",");
  }
  return digits;
}

}  // namespace countrace::cli
