#include "rmap/where/number_cell.h"

namespace countrace::rmap::where {
namespace {

using base::ExactNumber;
using base::Wide;

Wide Integer(const NumberCell& cell) {
  if (const auto* value = std::get_if<std::uint64_t>(&cell)) return *value;
  return std::get<std::int64_t>(cell);
}

std::partial_ordering Order(Wide a, Wide b) {
  return a < b   ? std::partial_ordering::less
         : b < a ? std::partial_ordering::greater
                 : std::partial_ordering::equivalent;
}

// For estimates, whose last digit has no meaning.
long double Rounded(const NumberCell& cell) {
  return std::visit([](auto value) { return static_cast<long double>(value); },
                    cell);
}

}  // namespace

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
