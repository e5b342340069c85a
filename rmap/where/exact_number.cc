#include "rmap/where/exact_number.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"

namespace countrace::rmap::where {
namespace {

constexpr std::size_t kMaxDigits = 18;

struct Suffix {
  std::string_view name;
  std::uint64_t factor;
  bool is_time;
};
constexpr Suffix kSuffixes[] = {{"ns", 1, true},
                                {"us", 1'000, true},
                                {"ms", 1'000'000, true},
                                {"s", 1'000'000'000, true},
                                {"min", 60'000'000'000, true},
                                {"h", 3'600'000'000'000, true},
                                {"k", 1'000, false},
                                {"M", 1'000'000, false},
                                {"G", 1'000'000'000, false},
                                {"T", 1'000'000'000'000, false},
                                {"Ki", 1ull << 10, false},
                                {"Mi", 1ull << 20, false},
                                {"Gi", 1ull << 30, false},
                                {"Ti", 1ull << 40, false}};

std::uint64_t PowerOfTen(std::size_t exponent) {
  std::uint64_t power = 1;
  for (; exponent != 0; --exponent) power *= 10;
  return power;
}

absl::Status TooLong(std::string_view digits) {
  return absl::InvalidArgumentError(absl::StrFormat(
      "`%s` needs more than %d digits", base::EscapeName(digits), kMaxDigits));
}

Wide Integer(const NumberCell& cell) {
  if (const auto* value = std::get_if<std::uint64_t>(&cell)) return *value;
  return std::get<std::int64_t>(cell);
}

std::partial_ordering Order(Wide a, Wide b) {
  return a < b   ? std::partial_ordering::less
         : b < a ? std::partial_ordering::greater
                 : std::partial_ordering::equivalent;
}

// Estimates, of which nobody asks for the last digit.
long double Rounded(const NumberCell& cell) {
  return std::visit([](auto value) { return static_cast<long double>(value); },
                    cell);
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
  // Behind the dot, or missing before it.
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
  if (figures.size() > kMaxDigits || fraction > static_cast<int>(kMaxDigits)) {
    return TooLong(digits);
  }
  ExactNumber number;
  for (const char c : figures)
    number.numerator = number.numerator * 10 + c - '0';
  number.denominator = PowerOfTen(static_cast<std::size_t>(fraction));
  if (suffix.empty()) return number;
  std::string names;
  for (const Suffix& known : kSuffixes) {
    if (suffix == known.name) {
      number.numerator *= known.factor;
      number.is_time = known.is_time;
      return number;
    }
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "`%s` is no unit; known are %s", base::EscapeName(suffix), names));
}

std::partial_ordering Compare(const NumberCell& cell,
                              const ExactNumber& number) {
  if (std::holds_alternative<double>(cell)) {
    return Rounded(cell) <=> static_cast<long double>(number.numerator) /
                                 static_cast<long double>(number.denominator);
  }
  return Order(Integer(cell) * static_cast<Wide>(number.denominator),
               number.numerator);
}

std::partial_ordering Compare(const NumberCell& a, const NumberCell& b) {
  if (std::holds_alternative<double>(a) || std::holds_alternative<double>(b)) {
    return Rounded(a) <=> Rounded(b);
  }
  return Order(Integer(a), Integer(b));
}

}  // namespace countrace::rmap::where
