#include "cli/program/wall_clock.h"

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"

namespace countrace::cli {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

// Takes numbers and characters from the front of a text.
class Taker final {
 public:
  explicit Taker(std::string_view text) : text_(text) {}

  // `digits` decimal digits, up to `most`.
  int Number(std::size_t digits, int most) {
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (text_.size() <= i || !absl::ascii_isdigit(text_[i])) ok_ = false;
      if (ok_) value = 10 * value + (text_[i] - '0');
    }
    text_.remove_prefix(std::min(digits, text_.size()));
    if (value > most) ok_ = false;
    return value;
  }
  // True and taken if the next character is one of `characters`.
  bool Take(std::string_view characters) {
    const bool found =
        !text_.empty() && characters.find(text_[0]) != std::string_view::npos;
    if (found) text_.remove_prefix(1);
    return found;
  }
  void Expect(std::string_view characters) {
    if (!Take(characters)) ok_ = false;
  }
  // ".5": 1 to 9 digits behind the point, as ns.
  std::int64_t Fraction() {
    if (!Take(".")) return 0;
    std::int64_t ns = 0, unit_ns = kSecondNs;
    while (!text_.empty() && absl::ascii_isdigit(text_[0]) && unit_ns > 1) {
      unit_ns /= 10;
      ns += unit_ns * (text_[0] - '0');
      text_.remove_prefix(1);
    }
    if (unit_ns == kSecondNs) ok_ = false;
    return ns;
  }
  bool ok() const { return ok_; }
  bool at_end() const { return text_.empty(); }

 private:
  std::string_view text_;
  bool ok_ = true;
};

}  // namespace

std::string FormatWallClock(std::int64_t ns) {
  std::int64_t fraction = ns % kSecondNs;
  if (fraction < 0) fraction += kSecondNs;
  const auto seconds = static_cast<std::time_t>((ns - fraction) / kSecondNs);
  std::tm parts{};
  if (gmtime_r(&seconds, &parts) == nullptr) return "unknown";
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
  return absl::StrFormat("%s.%09dZ", text, fraction);
}

std::optional<std::int64_t> ParseWallClock(std::string_view text) {
  Taker take(text);
  std::tm parts{};
  parts.tm_year = take.Number(4, 9999) - 1900;
  take.Expect("-");
  parts.tm_mon = take.Number(2, 12) - 1;
  take.Expect("-");
  parts.tm_mday = take.Number(2, 31);
  take.Expect("Tt ");
  parts.tm_hour = take.Number(2, 23);
  take.Expect(":");
  parts.tm_min = take.Number(2, 59);
  take.Expect(":");
  parts.tm_sec = take.Number(2, 60);
  const std::int64_t fraction_ns = take.Fraction();
  std::int64_t east_seconds = 0;
  if (!take.Take("Zz")) {
    const bool west = take.Take("-");
    if (!west) take.Expect("+");
    const int hours = take.Number(2, 23);
    take.Take(":");
    const int minutes = take.Number(2, 59);
    east_seconds = (west ? -1 : 1) * (hours * 3600 + minutes * 60);
  }
  if (!take.ok() || !take.at_end() || parts.tm_year < 70 || parts.tm_mon < 0 ||
      parts.tm_mday == 0) {
    return std::nullopt;
  }
  const int month = parts.tm_mon;
  const bool leap_second = parts.tm_sec == 60;
  const std::time_t seconds = timegm(&parts);
  // timegm() makes March of the 30th of February.
  if (parts.tm_mon != month && !leap_second) return std::nullopt;
  // 64 bits of ns end in 2262.
  std::int64_t ns = 0;
  if (__builtin_mul_overflow(seconds - east_seconds, kSecondNs, &ns) ||
      __builtin_add_overflow(ns, fraction_ns, &ns)) {
    return std::nullopt;
  }
  return ns;
}

std::optional<std::vector<std::int64_t>> ParseTimeOfDay(std::string_view text,
                                                        std::int64_t from_ns,
                                                        std::int64_t to_ns) {
  constexpr std::time_t kDay = 24 * 60 * 60;
  Taker take(text);
  const int hour = take.Number(2, 23);
  take.Expect(":");
  const int minute = take.Number(2, 59);
  const int second = take.Take(":") ? take.Number(2, 59) : 0;
  const std::int64_t fraction_ns = take.Fraction();
  if (!take.ok() || !take.at_end()) return std::nullopt;
  std::set<std::int64_t> found;
  const std::time_t first = from_ns / kSecondNs - kDay;
  const std::time_t last = to_ns / kSecondNs + kDay;
  for (std::time_t day = first; day <= last; day += kDay) {
    for (const int summer : {0, 1}) {
      std::tm parts{};
      if (localtime_r(&day, &parts) == nullptr) continue;
      parts.tm_hour = hour;
      parts.tm_min = minute;
      parts.tm_sec = second;
      parts.tm_isdst = summer;
      const std::time_t at = std::mktime(&parts);
      // A time that the clocks leave out, or of the other half of the year,
      // comes back as another one.
      if (parts.tm_hour != hour || parts.tm_min != minute ||
          parts.tm_isdst != summer) {
        continue;
      }
      std::int64_t ns = 0;
      if (__builtin_mul_overflow(at, kSecondNs, &ns)) continue;
      ns += fraction_ns;
      if (ns >= from_ns && ns <= to_ns) found.insert(ns);
    }
  }
  return std::vector<std::int64_t>(found.begin(), found.end());
}

bool IsDate(std::string_view text) {
  Taker take(text);
  take.Number(4, 9999);
  take.Expect("-");
  take.Number(2, 99);
  take.Expect("-");
  return take.ok();
}

}  // namespace countrace::cli
