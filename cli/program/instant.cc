#include "cli/program/instant.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "base/text/quantity_parse.h"
#include "cli/program/wall_clock.h"
#include "logformat/description/recorded_part.h"

namespace countrace::cli {
namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;

// A parsed text: on CLOCK_MONOTONIC, perhaps outside the trace.
using Clock = absl::StatusOr<std::uint64_t>;

bool TakePrefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool TakeSuffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

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

// "1.5s", "12.345 ms", "0": ns, 0 included.
std::optional<std::uint64_t> ParseDuration(std::string_view text) {
  std::string joined(text);
  // One space between number and unit, as tables print it.
  const std::size_t space = joined.find(' ');
  if (space != std::string::npos && space + 1 < joined.size() &&
      absl::ascii_isalpha(joined[space + 1])) {
    joined.erase(space, 1);
  }
  // ParseDurationNs() rejects 0.
  const std::size_t unit = joined.find_first_not_of("0.");
  if (unit != 0 && unit != std::string::npos && joined[0] == '0' &&
      std::count(joined.begin(), joined.end(), '.') <= 1) {
    const std::string_view name = std::string_view(joined).substr(unit);
    for (const base::TimeUnit& known : base::kTimeUnits) {
      if (name == known.name) return std::uint64_t{0};
    }
  }
  return base::ParseDurationNs(joined);
}

std::optional<double> ParsePercent(std::string_view text) {
  TakeSuffix(text, " ");
  double percent = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] =
      std::from_chars(text.data(), end, percent, std::chars_format::fixed);
  if (error != std::errc() || rest != end || !(percent >= 0)) {
    return std::nullopt;
  }
  return percent;
}

// Adds without wrapping.
std::uint64_t Later(std::uint64_t time_ns, std::uint64_t by_ns) {
  return by_ns > ~time_ns ? ~std::uint64_t{0} : time_ns + by_ns;
}

std::string Address(std::uint64_t time_ns) {
  return "@" + base::FormatSeconds(time_ns);
}

absl::Status NoInstant(std::string_view text) {
  return absl::InvalidArgumentError(absl::StrFormat(
      "not an instant: %s; want 1.5s or 12ms since the beginning, 50%%, begin, "
      "end, trigger, @SECONDS as script prints them, ns on CLOCK_MONOTONIC, a "
      "local time of day such as 03:12, or a date such as "
      "2026-01-31T12:00:00Z",
      base::EscapeName(text)));
}

class InstantParser final {
 public:
  InstantParser(std::string_view text, const TraceExtent& extent)
      // The page's thin spaces and its micro sign.
      : text_(absl::StrReplaceAll(
            std::string(text),
            {{"\u2009", ""}, {"\u00b5s", "us"}, {"\u03bcs", "us"}})),
        extent_(extent) {}

  Clock Parse() const {
    std::string_view text = text_;
    if (text == "begin") return extent_.begin_ns;
    if (text == "end") return extent_.end_ns();
    if (TakePrefix(text, "trigger")) return Trigger(text);
    if (IsDate(text)) return Date();
    if (const auto days = TimeOfDay()) return OfDay(*days);
    if (TakeSuffix(text, " after the beginning")) {
      // `info` prints a trigger's time so, in a snapshot too.
      if (const auto ns = ParseDuration(text)) {
        return Later(recording_begin_ns(), *ns);
      }
      return NoInstant(text_);
    }
    if (TakePrefix(text, "[") != TakeSuffix(text, "]")) {
      return NoInstant(text_);
    }
    if (TakePrefix(text, "@") || text.size() != text_.size()) {
      const auto ns = ParseSeconds(text);
      return ns ? Clock(*ns) : NoInstant(text_);
    }
    if (TakeSuffix(text, "%")) return Percent(text);
    if (TakePrefix(text, "+")) {
      auto ns = ParseDuration(text);
      if (!ns) ns = ParseSeconds(text);
      return ns ? Clock(Later(extent_.begin_ns, *ns)) : NoInstant(text_);
    }
    if (const auto ns = base::ParseInteger(text)) {
      return *ns == 0 ? extent_.begin_ns : *ns;
    }
    if (const auto ns = ParseDuration(text)) return Since(*ns);
    if (const auto ns = ParseSeconds(text)) return Bare(*ns);
    return NoInstant(text_);
  }

 private:
  std::uint64_t recording_begin_ns() const {
    return extent_.recording_begin_ns == 0
               ? extent_.begin_ns
               : std::min(extent_.recording_begin_ns, extent_.begin_ns);
  }
  bool Holds(std::uint64_t time_ns) const {
    return time_ns >= extent_.begin_ns && time_ns <= extent_.known_until_ns();
  }

  // "": the last one; ":2": the second one.
  Clock Trigger(std::string_view text) const {
    const std::size_t known = extent_.triggers_ns.size();
    std::uint64_t number = known;
    if (!text.empty()) {
      const auto given =
          text[0] == ':' ? base::ParseInteger(text.substr(1)) : std::nullopt;
      if (!given) return NoInstant(text_);
      number = *given;
    }
    if (number == 0 || number > known) {
      return absl::OutOfRangeError(absl::StrFormat(
          "%s: the trace names %d triggers that fired; `countrace info` lists "
          "them",
          base::EscapeName(text_), known));
    }
    return extent_.triggers_ns[number - 1];
  }

  Clock Date() const {
    const auto ns = ParseWallClock(text_);
    if (!ns) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "not a date with its time zone: %s; want 2026-01-31T12:00:00.5Z, or "
          "+02:00 for the Z",
          base::EscapeName(text_)));
    }
    std::int64_t clock_ns = 0;
    if (extent_.realtime_offset_ns == 0) return NoDates();
    if (__builtin_sub_overflow(*ns, extent_.realtime_offset_ns, &clock_ns) ||
        clock_ns < 0) {
      return std::uint64_t{0};
    }
    return static_cast<std::uint64_t>(clock_ns);
  }

  // In the trace; nullopt: the text is no time of day.
  std::optional<std::vector<std::int64_t>> TimeOfDay() const {
    const std::int64_t offset_ns = extent_.realtime_offset_ns;
    std::int64_t from_ns = 0, to_ns = 0;
    if (__builtin_add_overflow(extent_.begin_ns, offset_ns, &from_ns) ||
        __builtin_add_overflow(extent_.known_until_ns(), offset_ns, &to_ns)) {
      from_ns = to_ns = offset_ns;  // a damaged trace
    }
    return ParseTimeOfDay(text_, from_ns, to_ns);
  }

  Clock OfDay(const std::vector<std::int64_t>& days) const {
    const std::int64_t offset_ns = extent_.realtime_offset_ns;
    if (offset_ns == 0) return NoDates();
    if (days.size() == 1) {
      return static_cast<std::uint64_t>(days[0] - offset_ns);
    }
    if (days.size() > 1) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s means %d instants of this trace, from %s to %s: write the one's "
          "date, too",
          base::EscapeName(text_), days.size(), FormatWallClock(days.front()),
          FormatWallClock(days.back())));
    }
    const auto date = [&](std::uint64_t time_ns) {
      return FormatWallClock(static_cast<std::int64_t>(time_ns) + offset_ns);
    };
    return absl::OutOfRangeError(absl::StrFormat(
        "%s (local time) is not in the trace, which goes from %s to %s",
        base::EscapeName(text_), date(extent_.begin_ns),
        date(extent_.end_ns())));
  }

  static absl::Status NoDates() {
    return absl::InvalidArgumentError(
        "the trace does not say which date its clock began at");
  }

  Clock Percent(std::string_view text) const {
    const auto percent = ParsePercent(text);
    if (!percent) return NoInstant(text_);
    if (*percent > 100) return Later(extent_.known_until_ns(), 1);
    return extent_.begin_ns +
           static_cast<std::uint64_t>(static_cast<double>(extent_.duration_ns) *
                                      *percent / 100);
  }

  // "1.5s": since the beginning of the tables; `record` prints the time of a
  // trigger since that of the recording.
  Clock Since(std::uint64_t ns) const {
    return Either(Later(extent_.begin_ns, ns), Later(recording_begin_ns(), ns));
  }

  // "1.500000000": a time of `state` and of --by time, or one of `script`.
  Clock Bare(std::uint64_t ns) const {
    return Either(Later(extent_.begin_ns, ns), ns);
  }

  // The one in the trace; `first` if neither is.
  Clock Either(std::uint64_t first, std::uint64_t second) const {
    if (!Holds(second) || first == second) return first;
    if (!Holds(first)) return second;
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s means two instants of this trace, %s and %s: write one of these",
        base::EscapeName(text_), Address(first), Address(second)));
  }

  const std::string text_;
  const TraceExtent& extent_;
};

absl::Status OutOfRange(std::string_view text, const TraceExtent& extent) {
  return absl::OutOfRangeError(absl::StrFormat(
      "%s is not in the trace, which lasts %s s, from %s to %s on "
      "CLOCK_MONOTONIC; `end` is its end, and a time since its beginning has a "
      "unit: 5ms",
      base::EscapeName(text), base::FormatSeconds(extent.duration_ns),
      Address(extent.begin_ns), Address(extent.end_ns())));
}

}  // namespace

std::uint64_t TraceExtent::known_until_ns() const {
  std::uint64_t until_ns = end_ns();
  for (const std::uint64_t time_ns : triggers_ns) {
    until_ns = std::max(until_ns, time_ns);
  }
  return until_ns;
}

TraceExtent ExtentOf(const logformat::TraceInfo& info, std::uint64_t begin_ns,
                     std::uint64_t duration_ns) {
  TraceExtent extent{.begin_ns = begin_ns,
                     .duration_ns = duration_ns,
                     .recording_begin_ns = info.begin_ns,
                     .realtime_offset_ns = info.realtime_offset_ns,
                     .triggers_ns = {}};
  for (const logformat::TriggerFiring& trigger : info.triggers) {
    extent.triggers_ns.push_back(trigger.time_ns);
  }
  return extent;
}

TraceExtent ExtentOf(const logformat::TraceReader& reader) {
  const std::uint64_t begin_ns =
      std::max({reader.info().begin_ns, reader.complete_from_ns(),
                logformat::PartBeginNs(reader.info(), reader.end_ns())});
  return ExtentOf(reader.info(), begin_ns,
                  std::max(reader.end_ns(), begin_ns) - begin_ns);
}

absl::StatusOr<std::uint64_t> ParseInstant(std::string_view text,
                                           const TraceExtent& extent) {
  const auto time_ns = InstantParser(text, extent).Parse();
  if (!time_ns.ok()) return time_ns.status();
  if (*time_ns < extent.begin_ns || *time_ns > extent.known_until_ns()) {
    return OutOfRange(text, extent);
  }
  return std::min(*time_ns, extent.end_ns()) - extent.begin_ns;
}

absl::StatusOr<TimeRange> ParseTimeRange(std::string_view from,
                                         std::string_view to,
                                         const TraceExtent& extent) {
  TimeRange range;
  if (!from.empty()) {
    const auto time_ns = InstantParser(from, extent).Parse();
    if (!time_ns.ok()) return time_ns.status();
    if (*time_ns > extent.known_until_ns()) return OutOfRange(from, extent);
    range.from_ns = std::min(*time_ns, extent.end_ns());
  }
  if (!to.empty()) {
    const auto time_ns = InstantParser(to, extent).Parse();
    if (!time_ns.ok()) return time_ns.status();
    const std::uint64_t first_ns = extent.recording_begin_ns == 0
                                       ? extent.begin_ns
                                       : extent.recording_begin_ns;
    if (*time_ns < first_ns) return OutOfRange(to, extent);
    // The end is not before the last record.
    if (*time_ns < extent.end_ns()) range.to_ns = *time_ns;
  }
  if (range.from_ns >= range.to_ns) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the range is empty: it begins at %s and ends at %s",
                        Address(range.from_ns), Address(range.to_ns)));
  }
  return range;
}

TimeRange WindowAround(std::uint64_t time_ns, std::uint64_t window_ns,
                       std::uint64_t duration_ns) {
  window_ns = std::min(std::max<std::uint64_t>(window_ns, 1), duration_ns);
  const std::uint64_t from_ns = std::min(
      time_ns - std::min(time_ns, window_ns / 2), duration_ns - window_ns);
  return {from_ns, from_ns + window_ns};
}

absl::StatusOr<TimeRange> ParseRange(const RangeOptions& options,
                                     const TraceExtent& extent) {
  if (options.middle().empty()) {
    return ParseTimeRange(options.from, options.to, extent);
  }
  const auto time_ns = ParseInstant(options.middle(), extent);
  if (!time_ns.ok()) return time_ns.status();
  TimeRange range =
      WindowAround(*time_ns, options.window_ns, extent.duration_ns);
  range.from_ns += extent.begin_ns;
  range.to_ns += extent.begin_ns;
  // The end is not before the last record.
  if (range.to_ns >= extent.end_ns()) range.to_ns = TimeRange().to_ns;
  return range;
}

}  // namespace countrace::cli
