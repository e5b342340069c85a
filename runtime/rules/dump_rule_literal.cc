#include "runtime/rules/dump_rule_literal.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

namespace countrace::runtime {
namespace {

struct Spelling {
  std::string_view text;
  countrace_comparison comparison;
};
constexpr Spelling kComparisons[] = {{"==", COUNTRACE_EQUAL},
                                     {"!=", COUNTRACE_NOT_EQUAL},
                                     {"<=", COUNTRACE_LESS_OR_EQUAL},
                                     {"<", COUNTRACE_LESS},
                                     {">=", COUNTRACE_GREATER_OR_EQUAL},
                                     {">", COUNTRACE_GREATER},
                                     {"&", COUNTRACE_HAS_BITS}};

struct Unit {
  std::string_view name;
  std::uint64_t ns;
};
// Largest first: PrintDurationNs takes the first one that fits.
constexpr Unit kUnits[] = {
    {"h", 3'600'000'000'000}, {"m", 60'000'000'000}, {"s", 1'000'000'000},
    {"ms", 1'000'000},        {"us", 1'000},         {"ns", 1}};

constexpr std::uint64_t kMaxDurationNs =
    std::numeric_limits<std::int64_t>::max();

// All of `text` in `base`.
std::optional<std::uint64_t> WholeNumber(std::string_view text, int base) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value, base);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> Hexadecimal(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  return WholeNumber(text.substr(2), 16);
}

bool ParseInteger(std::string_view word, countrace_predicate& predicate) {
  const bool negative = word.starts_with("-");
  if (negative) word.remove_prefix(1);
  const auto magnitude =
      word.starts_with("0x") ? Hexadecimal(word) : WholeNumber(word, 10);
  if (!magnitude || (negative && *magnitude > std::uint64_t{1} << 63)) {
    return false;
  }
  const bool below_zero = negative && *magnitude != 0;
  predicate.constant =
      below_zero ? COUNTRACE_CONSTANT_NEGATIVE : COUNTRACE_CONSTANT_UNSIGNED;
  predicate.bits = below_zero ? ~*magnitude + 1 : *magnitude;
  return true;
}

bool ParseDouble(std::string_view word, countrace_predicate& predicate) {
  // from_chars also takes "inf" and "nan", which no value can be compared with.
  if (word.find_first_of(".e") == std::string_view::npos) return false;
  double value = 0;
  const char* const end = word.data() + word.size();
  const auto parsed = std::from_chars(word.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || !std::isfinite(value)) {
    return false;
  }
  predicate.constant = COUNTRACE_CONSTANT_DOUBLE;
  predicate.bits = std::bit_cast<std::uint64_t>(value);
  return true;
}

std::string PrintNumber(const countrace_predicate& predicate) {
  if (predicate.constant == COUNTRACE_CONSTANT_UNSIGNED) {
    return std::to_string(predicate.bits);
  }
  if (predicate.constant == COUNTRACE_CONSTANT_NEGATIVE) {
    return std::to_string(static_cast<std::int64_t>(predicate.bits));
  }
  // The shortest text that reads back as the same value.
  char digits[32];
  const auto printed = std::to_chars(digits, digits + sizeof(digits),
                                     std::bit_cast<double>(predicate.bits));
  std::string text(digits, printed.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string PrintText(const countrace_predicate& predicate) {
  std::string text = "\"";
  for (unsigned i = 0; i < predicate.text_bytes; ++i) {
    if (predicate.text[i] == '"' || predicate.text[i] == '\\') text += '\\';
    text += predicate.text[i];
  }
  return text + '"';
}

}  // namespace

std::optional<countrace_comparison> FindComparison(std::string_view text) {
  for (const Spelling& known : kComparisons) {
    if (text == known.text) return known.comparison;
  }
  return std::nullopt;
}

std::optional<unsigned char> ParseArgument(std::string_view text,
                                           std::size_t& bytes) {
  for (unsigned argument = 0; argument <= COUNTRACE_ARGUMENT_NUMBER;
       ++argument) {
    const std::string name = ArgumentName(argument);
    if (!text.starts_with(name)) continue;
    bytes = name.size();
    return static_cast<unsigned char>(argument);
  }
  return std::nullopt;
}

std::string ArgumentName(unsigned argument) {
  if (argument == COUNTRACE_ARGUMENT_RET) return "ret";
  if (argument == COUNTRACE_ARGUMENT_NUMBER) return "number";
  return "arg" + std::to_string(argument);
}

std::size_t ParseNumber(std::string_view text, countrace_predicate& predicate) {
  const std::string_view word = text.substr(0, text.find_first_of(" \t"));
  if (!ParseInteger(word, predicate) && !ParseDouble(word, predicate)) {
    return 0;
  }
  return word.size();
}

std::size_t ParseTextConstant(std::string_view text,
                              countrace_predicate& predicate) {
  predicate.constant = COUNTRACE_CONSTANT_TEXT;
  predicate.text_bytes = 0;
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] == '"') return at + 1;
    if (text[at] == '\\' &&
        (++at == text.size() || (text[at] != '"' && text[at] != '\\'))) {
      return 0;
    }
    if (predicate.text_bytes == COUNTRACE_PREDICATE_TEXT_BYTES) return 0;
    predicate.text[predicate.text_bytes++] = text[at];
  }
  return 0;
}

std::string PrintPredicate(const countrace_predicate& predicate) {
  const auto* const known =
      std::find_if(std::begin(kComparisons), std::end(kComparisons),
                   [&](const Spelling& spelling) {
                     return spelling.comparison == predicate.comparison;
                   });
  std::string text = ArgumentName(predicate.argument) + " ";
  if (known != std::end(kComparisons)) text += known->text;
  return text + " " +
         (predicate.constant == COUNTRACE_CONSTANT_TEXT
              ? PrintText(predicate)
              : PrintNumber(predicate));
}

std::optional<std::uint64_t> ParseCount(std::string_view text) {
  const auto number = WholeNumber(text, 10);
  if (!number || *number == 0 || *number > kMaxRuleCount) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> ParseDurationNs(std::string_view text) {
  const std::size_t digits =
      std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = WholeNumber(text.substr(0, digits), 10);
  if (!number || *number == 0) return std::nullopt;
  for (const Unit& unit : kUnits) {
    if (text.substr(digits) != unit.name) continue;
    if (*number > kMaxDurationNs / unit.ns) return std::nullopt;
    return *number * unit.ns;
  }
  return std::nullopt;
}

std::string PrintDurationNs(std::uint64_t ns) {
  for (const Unit& unit : kUnits) {
    if (ns % unit.ns == 0) {
      return std::to_string(ns / unit.ns) + std::string(unit.name);
    }
  }
  return std::to_string(ns) + "ns";
}

std::optional<AddressRange> ParseAddressRange(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto begin = Hexadecimal(text.substr(0, dash));
  const auto end = Hexadecimal(text.substr(dash + 1));
  if (!begin || !end) return std::nullopt;
  return AddressRange{*begin, *end};
}

}  // namespace countrace::runtime
