#include "base/text/quantity_parse.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"

namespace countrace::base {
namespace {

constexpr std::size_t kMaxDigits = 19, kMaxFraction = 18;

struct Power {
  std::string_view name;
  std::uint64_t factor;
};
constexpr Power kPowers[] = {{"k", 1'000},         {"M", 1'000'000},
                             {"G", 1'000'000'000}, {"T", 1'000'000'000'000},
                             {"Ki", 1ull << 10},   {"Mi", 1ull << 20},
                             {"Gi", 1ull << 30},   {"Ti", 1ull << 40}};

std::uint64_t PowerOfTen(std::size_t exponent) {
  std::uint64_t power = 1;
  for (; exponent != 0; --exponent) power *= 10;
  return power;
}

absl::Status TooLong(std::string_view digits) {
  return absl::InvalidArgumentError(absl::StrFormat(
      "`%s` has too many digits: at most %d are read, %d of them behind the "
      "dot",
      EscapeName(digits), kMaxDigits, kMaxFraction));
}

// Multiplies by the unit. Errors: as ParseExactNumber().
absl::Status Scale(std::string_view suffix, ExactNumber& number) {
  if (suffix.empty()) return absl::OkStatus();
  std::string names;
  for (const TimeUnit& unit : kTimeUnits) {
    if (suffix == unit.name) {
      number.numerator *= unit.ns;
      number.is_time = true;
      return absl::OkStatus();
    }
    names += std::string(unit.name) + ", ";
  }
  for (const Power& power : kPowers) {
    if (suffix == power.name) {
      number.numerator *= power.factor;
      return absl::OkStatus();
    }
    names += std::string(power.name) + ", ";
  }
  names.resize(names.size() - 2);
  return absl::InvalidArgumentError(absl::StrFormat(
      "`%s` is no unit; known are %s", EscapeName(suffix), names));
}

}  // namespace

absl::StatusOr<ExactNumber> ParseExactNumber(std::string_view digits,
                                             std::string_view suffix) {
  const std::size_t exponent_at =
      std::min(digits.find_first_of("eE"), digits.size());
  int exponent = 0;
  if (exponent_at != digits.size()) {
    std::string_view text = digits.substr(exponent_at + 1);
    if (text.starts_with("+")) text.remove_prefix(1);
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, exponent);
    if (parsed.ec != std::errc() || parsed.ptr != end || exponent > 40 ||
        exponent < -40) {
      return TooLong(digits);
    }
  }
  std::string figures;
  for (const char c : digits.substr(0, exponent_at)) {
    if (absl::ascii_isdigit(c)) figures += c;
  }
  const std::size_t dot = std::min(digits.find('.'), exponent_at);
  // Digits after the dot; negative: zeros missing before it.
  int fraction = static_cast<int>(figures.size()) - static_cast<int>(dot);
  fraction -= exponent;
  while (fraction > 0 && figures.size() > 1 && figures.back() == '0') {
    figures.pop_back();
    --fraction;
  }
  figures.erase(0, std::min(figures.find_first_not_of('0'), figures.size()));
  if (figures.empty()) fraction = 0;
  if (fraction < 0) {
    figures.append(static_cast<std::size_t>(-fraction), '0');
    fraction = 0;
  }
  if (figures.size() > kMaxDigits ||
      fraction > static_cast<int>(kMaxFraction)) {
    return TooLong(digits);
  }
  ExactNumber number;
  for (const char c : figures)
    number.numerator = number.numerator * 10 + c - '0';
  number.denominator = PowerOfTen(static_cast<std::size_t>(fraction));
  const absl::Status status = Scale(suffix, number);
  if (!status.ok()) return status;
  return number;
}

std::optional<std::uint64_t> ParseInteger(std::string_view text, int base) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value, base);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> ParseDurationNs(std::string_view text,
                                             std::string_view bare_unit) {
  const std::string_view digits =
      text.substr(0, text.find_first_not_of("0123456789."));
  if (std::count(digits.begin(), digits.end(), '.') > 1) return std::nullopt;
  const std::string_view unit = text.substr(digits.size());
  const auto number = ParseExactNumber(digits, unit.empty() ? bare_unit : unit);
  if (!number.ok() || !number->is_time) return std::nullopt;
  const Wide ns =
      (number->numerator + number->denominator / 2) / number->denominator;
  if (ns < 1 || ns > std::numeric_limits<std::int64_t>::max()) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(ns);
}

std::string PrintDurationNs(std::uint64_t ns) {
  for (const TimeUnit& unit : kTimeUnits) {
    if (ns % unit.ns == 0) {
      return std::to_string(ns / unit.ns) + std::string(unit.name);
    }
  }
  return std::to_string(ns) + "ns";
}

std::optional<std::uint64_t> ParseBytes(std::string_view text) {
  const std::size_t digits =
      std::min(text.find_first_not_of("0123456789"), text.size());
  const auto value = ParseInteger(text.substr(0, digits));
  if (!value) return std::nullopt;
  std::string_view unit = text.substr(digits);
  if (unit.empty() || unit == "B") return value;
  constexpr std::string_view kPrefixes = "KMGT";
  const char prefix = unit[0] == 'k' ? 'K' : unit[0];
  const std::size_t power = kPrefixes.find(prefix);
  if (power == std::string_view::npos) return std::nullopt;
  unit.remove_prefix(1);
  if (!unit.empty() && unit != "B" && unit != "iB") return std::nullopt;
  const unsigned shift = 10 * (static_cast<unsigned>(power) + 1);
  if (*value > std::numeric_limits<std::uint64_t>::max() >> shift) {
    return std::nullopt;
  }
  return *value << shift;
}

}  // namespace countrace::base
