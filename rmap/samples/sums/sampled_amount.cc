#include "rmap/samples/sums/sampled_amount.h"

#include <algorithm>
#include <cmath>

#include "rmap/samples/sums/event_books.h"

namespace countrace::rmap {
namespace {

constexpr double kNormal95 = 1.959963984540054;

// A damaged trace has amounts that no integer holds.
std::uint64_t Whole(double amount) {
  constexpr double kMost = 9e18;
  return static_cast<std::uint64_t>(std::min(amount, kMost));
}

}  // namespace

void SetShare(double hits, double all, SampledAmount& amount) {
  if (all <= 0) return;
  const double share = std::min(hits / all, 1.0);
  const double z2 = kNormal95 * kNormal95;
  const double middle = (share + z2 / (2 * all)) / (1 + z2 / all);
  const double half =
      kNormal95 / (1 + z2 / all) *
      std::sqrt(share * (1 - share) / all + z2 / (4 * all * all));
  amount.share = share;
  amount.share_lo = std::max(0.0, middle - half);
  amount.share_hi = std::min(1.0, middle + half);
}

std::vector<SampleTotal> EmptyTotals(const Samples& samples) {
  std::vector<SampleTotal> totals(samples.events.size());
  for (const SampleBooks& books : SampleBooksOf(samples)) {
    SampleTotal& total = totals[books.event];
    total.counted_times = samples.events[books.event].periods;
    total.missing = MissingIn(samples, books);
    // With `every=1`; what was counted in a part of a recording is not known.
    const bool each =
        total.counted_times == 1 && books.hits == books.processes &&
        (samples.of_part ? total.missing == 0 : books.residual == 0);
    total.of_whole = samples.events[books.event].off_cpu || each;
  }
  return totals;
}

SampledAmount AmountOf(const SampleWeight& weight, const SampleTotal& all) {
  SampledAmount amount;
  if (all.periods > 0) {
    const double share = static_cast<double>(weight.periods) / all.periods;
    SetShare(share * all.effective_hits(), all.effective_hits(), amount);
  }
  amount.hits = weight.hits;
  // Down: the rows of a table are at most their sum.
  amount.value = weight.periods / all.counted_times;
  const double counted = all.periods / static_cast<double>(all.counted_times);
  if (all.of_whole) {
    amount.exact = all.missing == 0;
    amount.share_lo = amount.share_hi = amount.share;
    amount.lo = amount.value;
    amount.hi = amount.value + all.missing;
    if (amount.exact) return amount;
    const double most = counted + static_cast<double>(all.missing);
    amount.share_lo = static_cast<double>(amount.lo) / most;
    amount.share_hi = static_cast<double>(amount.hi) / most;
    return amount;
  }
  amount.lo = Whole(amount.share_lo * counted);
  amount.hi = Whole(std::ceil(amount.share_hi * counted)) + all.missing;
  const auto missing = static_cast<double>(all.missing);
  if (all.missing == 0) return amount;
  amount.share_lo *= counted / (counted + missing);
  amount.share_hi = (amount.share_hi * counted + missing) / (counted + missing);
  return amount;
}

}  // namespace countrace::rmap
