#include "rmap/tables/input/account_sums.h"

#include <algorithm>
#include <cmath>

namespace countrace::rmap {

void ErrorSum::Add(const ScaledCount& part) {
  if (!variance_ || !part.standard_error) {
    variance_.reset();
    return;
  }
  const double variance = *part.standard_error * *part.standard_error;
  *variance_ += variance;
  quartic_ += variance * variance / part.freedom;
}

std::optional<double> ErrorSum::StandardError() const {
  if (!variance_) return std::nullopt;
  return std::sqrt(*variance_);
}

double ErrorSum::Freedom() const {
  if (!variance_ || quartic_ == 0) return 1;
  return std::max(1.0, *variance_ * *variance_ / quartic_);
}

std::uint64_t RunningNs(const TableInput& input, const CpuState& cpu,
                        std::size_t event) {
  const EventSetDumps& dumps = input.in.dispatches.dumps();
  const std::size_t at =
      dumps.running_of(dumps.sets().SetOf(event).value_or(0));
  return cpu.counters.closed[at] + cpu.counters.last[at] -
         cpu.counters.first[at];
}

std::optional<ScaledCount> ScaleAccount(const TableInput& input,
                                        CpuAccount CpuState::*account,
                                        std::size_t event) {
  SliceSums sum;
  std::uint64_t ns = 0;
  for (const CpuState& cpu : input.in.dispatches.cpus()) {
    const CpuAccount& part = cpu.*account;
    ns += part.ns;
    if (const SliceSums* const more = part.slices.Find(event)) {
      sum.Merge(*more);
    }
  }
  if (ns == 0 && account == &CpuState::unattributed) {
    ScaledCount nothing;  // known, while other accounts may not exist
    nothing.standard_error = 0;
    return nothing;
  }
  return sum.Estimate(ns);
}

}  // namespace countrace::rmap
