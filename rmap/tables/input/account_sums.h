// What rows of CPUs and books have in common if event sets are multiplexed.
#ifndef COUNTRACE_RMAP_TABLES_INPUT_ACCOUNT_SUMS_H_
#define COUNTRACE_RMAP_TABLES_INPUT_ACCOUNT_SUMS_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "rmap/state/cpu_state.h"
#include "rmap/tables/input/table_input.h"

namespace countrace::rmap {

// In the order of the accounts in Books.
inline constexpr CpuAccount CpuState::*kBookAccounts[] = {
    &CpuState::busy, &CpuState::idle, &CpuState::interrupts, &CpuState::outside,
    &CpuState::unattributed};

// The error of a sum of estimates; unknown if that of one part is.
class ErrorSum {
 public:
  void Add(const ScaledCount& part);
  // Sets `standard_error` and `freedom`: Satterthwaite's.
  template <typename Sum>
  void Set(Sum& sum) const {
    sum.standard_error = StandardError();
    sum.freedom = Freedom();
  }

 private:
  std::optional<double> StandardError() const;
  double Freedom() const;

  std::optional<double> variance_ = 0.0;
  double quartic_ = 0;  // sum of variance^2 / freedom
};

// The time in which the set of `event` was counted on `cpu`.
std::uint64_t RunningNs(const TableInput& input, const CpuState& cpu,
                        std::size_t event);

// The estimate of one account, summed over all CPUs. Absent if it had time, but
// none in the rotations of the event's set.
std::optional<ScaledCount> ScaleAccount(const TableInput& input,
                                        CpuAccount CpuState::*account,
                                        std::size_t event);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_INPUT_ACCOUNT_SUMS_H_
