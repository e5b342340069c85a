#include "cli/instant.h"

#include <charconv>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "base/text/quantity_parse.h"

namespace countrace::cli {
namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;

// Converts "123.456789012" to ns by digits: a double is not exact enough.
std::optional<std::uint64_t> ParseSeconds(std::string_view text) {
  const std::size_t point = text.find('.');
  const auto seconds = base::ParseInteger(text.substr(0, point));
  if (!seconds || *seconds > ~std::uint64_t{0} / kSecondNs - 1) {
    return std::nullopt;
  }
  std::uint64_t ns = *seconds * kSecondNs;
  if (point == std::string_view::npos) return ns;
  const std::string_view fraction = text.substr(point + 1);
  if (fraction.empty() || fraction.size() > 9) return std::nullopt;
  const auto digits = base::ParseInteger(fraction);
  if (!digits) return std::nullopt;
  std::uint64_t unit_ns = kSecondNs;
  for (std::size_t i = 0; i < fraction.size(); ++i) unit_ns /= 10;
  return ns + *digits * unit_ns;
}

std::optional<double> ParsePercent(std::string_view text) {
  double percent = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] =
      std::from_chars(text.data(), end, percent, std::chars_format::fixed);
  if (error != std::errc() || rest != end || !(percent >= 0)) {
    return std::nullopt;
  }
  return percent;
}

absl::StatusOr<std::uint64_t> FromClock(std::string_view text,
                                        std::uint64_t time_ns,
                                        const TraceExtent& extent) {
  const std::uint64_t end_ns = extent.begin_ns + extent.duration_ns;
  if (time_ns >= extent.begin_ns && time_ns <= end_ns) {
    return time_ns - extent.begin_ns;
  }
  return absl::OutOfRangeError(absl::StrFormat(
      "%s is not in the trace, which lasts from @%s to @%s on CLOCK_MONOTONIC; "
      "a time since its beginning has a unit: 5ms",
      base::EscapeName(text), base::FormatSeconds(extent.begin_ns),
      base::FormatSeconds(end_ns)));
}

}  // namespace

absl::StatusOr<std::uint64_t> ParseInstant(std::string_view text,
                                           const TraceExtent& extent) {
  if (text == "begin") return std::uint64_t{0};
  if (text == "end") return extent.duration_ns;
  const auto out_of_range = [&] {
    return absl::OutOfRangeError(absl::StrFormat(
        "%s is after the end of the trace, which lasts %s s; --at end is its "
        "end",
        base::EscapeName(text), base::FormatSeconds(extent.duration_ns)));
  };
  if (!text.empty() && text.back() == '%') {
    const auto percent = ParsePercent(text.substr(0, text.size() - 1));
    if (percent) {
      if (*percent > 100) return out_of_range();
      return static_cast<std::uint64_t>(
          static_cast<double>(extent.duration_ns) * *percent / 100);
    }
  } else if (!text.empty() && text.front() == '@') {
    const auto time_ns = ParseSeconds(text.substr(1));
    if (time_ns) return FromClock(text, *time_ns, extent);
  } else if (const auto time_ns = base::ParseInteger(text)) {
    if (*time_ns == 0) return std::uint64_t{0};
    return FromClock(text, *time_ns, extent);
  } else {
    const std::string_view since =
        !text.empty() && text.front() == '+' ? text.substr(1) : text;
    // ParseDurationNs() rejects 0.
    if (since == "0s" || since == "0ms" || since == "0us" || since == "0ns") {
      return std::uint64_t{0};
    }
    if (const auto offset_ns = base::ParseDurationNs(since, "s")) {
      if (*offset_ns > extent.duration_ns) return out_of_range();
      return *offset_ns;
    }
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "not an instant: %s; want 1.5s or 12ms since the beginning, 50%%, begin, "
      "end, @SECONDS as script prints them, or ns on CLOCK_MONOTONIC",
      base::EscapeName(text)));
}

}  // namespace countrace::cli
