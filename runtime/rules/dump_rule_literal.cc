#include "runtime/rules/dump_rule_literal.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "base/text/quantity_parse.h"

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

std::optional<std::uint64_t> Hexadecimal(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  return base::ParseInteger(text.substr(2), 16);
}

bool ParseWhole(std::string_view word, bool negative,
                countrace_predicate& predicate) {
  const auto magnitude =
      word.starts_with("0x") ? Hexadecimal(word) : base::ParseInteger(word);
  if (!magnitude || (negative && *magnitude > std::uint64_t{1} << 63)) {
    return false;
  }
  const bool below_zero = negative && *magnitude != 0;
  predicate.constant =
      below_zero ? COUNTRACE_CONSTANT_NEGATIVE : COUNTRACE_CONSTANT_UNSIGNED;
  predicate.bits = below_zero ? ~*magnitude + 1 : *magnitude;
  return true;
}

bool ParseDouble(std::string_view word, bool negative,
                 countrace_predicate& predicate) {
  // from_chars also takes "inf" and "nan", which no value can be compared with.
  if (word.find_first_of(".e") == std::string_view::npos) return false;
  double value = 0;
  const char* const end = word.data() + word.size();
  const auto parsed = std::from_chars(word.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || !std::isfinite(value)) {
    return false;
  }
  predicate.constant = COUNTRACE_CONSTANT_DOUBLE;
  predicate.bits = std::bit_cast<std::uint64_t>(negative ? -value : value);
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

std::optional<unsigned char> ParseArgument(std::string_view text) {
  for (unsigned argument = 0; argument <= COUNTRACE_ARGUMENT_NUMBER;
       ++argument) {
    if (text == ArgumentName(argument)) {
      return static_cast<unsigned char>(argument);
    }
  }
  return std::nullopt;
}

std::string ArgumentName(unsigned argument) {
  if (argument == COUNTRACE_ARGUMENT_RET) return "ret";
  if (argument == COUNTRACE_ARGUMENT_NUMBER) return "number";
  return "arg" + std::to_string(argument);
}

bool ParseNumber(std::string_view text, bool negative,
                 countrace_predicate& predicate) {
  return ParseWhole(text, negative, predicate) ||
         ParseDouble(text, negative, predicate);
}

bool ParseTextConstant(const base::Token& text,
                       countrace_predicate& predicate) {
  const std::string constant = text.Unescaped();
  // Each sign that is written with a backslash is one more in the text.
  const auto signs =
      std::count_if(constant.begin(), constant.end(),
                    [](char c) { return c == '\\' || c == '"'; });
  if (constant.size() + static_cast<std::size_t>(signs) != text.text.size() ||
      constant.size() > COUNTRACE_PREDICATE_TEXT_BYTES) {
    return false;
  }
  predicate.constant = COUNTRACE_CONSTANT_TEXT;
  predicate.text_bytes = static_cast<unsigned char>(constant.size());
  std::copy(constant.begin(), constant.end(), predicate.text);
  return true;
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
  const auto number = base::ParseInteger(text);
  if (!number || *number == 0 || *number > kMaxRuleCount) return std::nullopt;
  return number;
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
