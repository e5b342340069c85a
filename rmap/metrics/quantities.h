// What a rule can name besides events and other metrics: the quantities of each
// row of a table, and of the whole trace.
#ifndef COUNTRACE_RMAP_METRICS_QUANTITIES_H_
#define COUNTRACE_RMAP_METRICS_QUANTITIES_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rmap/metrics/metric_unit.h"

namespace countrace::rmap::metrics {

// Tables that have metrics. kTrace: one row, all recorded processes together.
enum class Scope : std::uint8_t {
  kTrace,
  kProcess,
  kThread,
  kSegment,
  kPath,
  kCpu
};
inline constexpr std::size_t kScopes = 6;
inline constexpr std::array<Scope, kScopes> kAllScopes = {
    Scope::kTrace,   Scope::kProcess, Scope::kThread,
    Scope::kSegment, Scope::kPath,    Scope::kCpu};
const char* ScopeName(Scope scope);
std::optional<Scope> ScopeOf(std::string_view name);

// One bit for each scope.
using ScopeSet = std::uint8_t;
inline constexpr ScopeSet kEveryScope = (1u << kScopes) - 1;
constexpr ScopeSet Only(Scope scope) {
  return static_cast<ScopeSet>(1u << static_cast<unsigned>(scope));
}
constexpr bool Has(ScopeSet set, Scope scope) {
  return (set & Only(scope)) != 0;
}
std::string ScopeNames(ScopeSet set);  // "thread, cpu"

enum class Quantity : std::uint8_t {
  kWall,
  kOnCpu,
  kOffCpu,
  kWait,
  kBlocked,
  kCalls,
  kDispatches,
  kMigrations,
  kThreads,
  kRecording,
  kBusy,
  kIdle,
  kInterrupts,
  kOutside,
  kUnattributed,
  kExclusiveWall,
  kExclusiveOnCpu,
  kExclusiveOffCpu,
  kExclusiveWait,
  kExclusiveBlocked,
  kCallMean,
  kCallStddev,
  kCallMin,
  kCallMax,
  kCallP50,
  kCallP90,
  kCallP99,
  // Quantities of the trace, in every table.
  kDuration,
  kCpus,
  kRecords,
  kOwnBpf,
  kDiscarded
};

struct QuantityInfo {
  Quantity quantity;
  std::string_view qualifier;  // "excl", "wall", or none
  std::string_view name;
  ScopeSet scopes;
  Dimensions dimensions;
  std::string_view meaning;
};
const std::vector<QuantityInfo>& Quantities();
// Returns null if there is none of this name.
const QuantityInfo* FindQuantity(std::string_view qualifier,
                                 std::string_view name);

// Accounts of the books, as qualifiers of an event ("total.cycles"), in every
// table; and "excl" for segments: without inner segments.
enum class Account : std::uint8_t {
  kRow,  // no qualifier: the row's own
  kExclusive,
  kTotal,
  kProcesses,
  kOwn,
  kIdle,
  kInterrupts,
  kOutside,
  kUnattributed
};
std::optional<Account> AccountOf(std::string_view qualifier);

}  // namespace countrace::rmap::metrics

#endif  // COUNTRACE_RMAP_METRICS_QUANTITIES_H_
