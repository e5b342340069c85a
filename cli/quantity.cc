#include "cli/quantity.h"

#include "absl/strings/str_format.h"

namespace countrace::cli {
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
