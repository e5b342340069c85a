// Sums of the estimates of CPU accounts, if event sets are multiplexed.
#ifndef COUNTRACE_RMAP_TABLES_ACCOUNT_SUMS_H_
#define COUNTRACE_RMAP_TABLES_ACCOUNT_SUMS_H_

#include <optional>

#include "rmap/state/cpu_state.h"

namespace countrace::rmap {

// In the order of the accounts in Books.
inline constexpr CpuAccount CpuState::*kBookAccounts[] = {
    &CpuState::busy, &CpuState::idle, &CpuState::interrupts, &CpuState::outside,
    &CpuState::unattributed};

// The variance of a sum; absent if one part has none.
inline std::optional<double> AddVariance(std::optional<double> variance,
                                         std::optional<double> error) {
  if (!variance || !error) return std::nullopt;
  return *variance + *error * *error;
}

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_ACCOUNT_SUMS_H_
