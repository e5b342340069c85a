#include "rmap/samples/sums/sampled_amount.h"

#include <algorithm>
#include <cmath>

#include "rmap/result/limits.h"

namespace countrace::rmap {
namespace {

constexpr double kNormal95 = 1.959963984540054;
constexpr double kNoLimit = 1e300;

// A damaged trace has amounts that no integer holds.
std::uint64_t Whole(double amount) {
  constexpr double kMost = 9e18;
  return static_cast<std::uint64_t>(std::min(amount, kMost));
}

// The time of all samples, what a row lacks, and the most that it has.
struct RowLimit {
  double least_all, most_all, missing, most;
};

// `counted`: of all samples.
RowLimit LimitOf(const SampleWeight& weight, const SampleTotal& all,
                 double counted) {
  if (all.limits.empty() || all.sampled.sampled_ns == 0) {
    return {counted, counted, static_cast<double>(all.missing), kNoLimit};
  }
  // Without what is missing, which is of some rows. Samples may be of some
  // threads only.
  const auto time = [](const ProcessLimit& of) {
    return static_cast<double>(of.on_cpu_ns) - static_cast<double>(of.missing);
  };
  const double exact = counted * time(all.sampled) /
                           static_cast<double>(all.sampled.sampled_ns) +
                       time(all.unsampled);
  const auto interrupts = static_cast<double>(all.interrupts_ns);
  RowLimit sum = {exact, exact + interrupts,
                  static_cast<double>(all.unsampled.missing),
                  static_cast<double>(all.unseen_ns) + interrupts};
  std::vector<ProcessIndex> processes = weight.processes;
  std::sort(processes.begin(), processes.end());
  processes.erase(std::unique(processes.begin(), processes.end()),
                  processes.end());
  for (const ProcessIndex process : processes) {
    const auto limit = all.limits.find(process);
    if (limit == all.limits.end()) continue;
    sum.most += static_cast<double>(limit->second.on_cpu_ns) -
                static_cast<double>(limit->second.unseen_ns);
    sum.missing += static_cast<double>(limit->second.missing);
  }
  return sum;
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

void SampleWeight::Add(const SampleSum& sum, const Samples& samples) {
  hits += sum.hits;
  periods += sum.periods;
  const ProcessIndex process = samples.contexts[sum.context].process;
  if (processes.empty() || processes.back() != process) {
    processes.push_back(process);
  }
}

void SampleWeight::Add(const SampleWeight& more) {
  hits += more.hits;
  periods += more.periods;
  processes.insert(processes.end(), more.processes.begin(),
                   more.processes.end());
}

void SampleTotal::Add(const SampleSum& sum, const Samples& samples) {
  periods += static_cast<double>(sum.periods);
  squared_periods += sum.squared_periods;
  const ProcessIndex process = samples.contexts[sum.context].process;
  if (limits.empty() || !added.insert(process).second) return;
  const auto limit = limits.find(process);
  if (limit == limits.end()) {
    limits.clear();  // a damaged page
  } else {
    sampled.on_cpu_ns += limit->second.on_cpu_ns;
    sampled.sampled_ns += limit->second.sampled_ns;
    sampled.missing += limit->second.missing;
  }
}

std::vector<SampleTotal> EmptyTotals(const Samples& samples) {
  std::vector<SampleTotal> totals(samples.events.size());
  for (const SampleBooks& books : SampleBooksOf(samples)) {
    SampleTotal& total = totals[books.event];
    total.counted_times = samples.events[books.event].periods;
    total.missing = MissingIn(samples, books);
    total.limits = ProcessLimits(samples, books);
    total.interrupts_ns = samples.interrupts_ns;
    for (const auto& [process, limit] : total.limits) {
      total.unseen_ns = AddBounded(total.unseen_ns, limit.unseen_ns);
      if (limit.sampled_ns != 0) continue;
      total.unsampled.on_cpu_ns += limit.on_cpu_ns;
      total.unsampled.missing += limit.missing;
    }
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
  const RowLimit limit = LimitOf(weight, all, counted);
  const auto value = static_cast<double>(amount.value);
  const double hi = std::max(
      value, std::min(limit.most, std::ceil(amount.share_hi * limit.most_all) +
                                      limit.missing));
  amount.lo = Whole(std::min(value, amount.share_lo * limit.least_all));
  amount.hi = Whole(hi);
  if (counted == 0) return amount;
  amount.share_lo *= counted / (counted + static_cast<double>(all.missing));
  amount.share_hi =
      (amount.share_hi * counted + limit.missing) / (counted + limit.missing);
  return amount;
}

}  // namespace countrace::rmap
