// What events cost: typical, least and most, from a TOML file, as in perfex -y
// of IRIX. Costs are in clocks of `clock_mhz`, without it in ns.
//
// Thread: any; no state.
#ifndef COUNTRACE_RMAP_STAT_COST_TABLE_H_
#define COUNTRACE_RMAP_STAT_COST_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace countrace::rmap {

struct EventCost {
  double typical_ns = 0, min_ns = 0, max_ns = 0;  // min <= typical <= max
};

struct CostedEvent {
  std::string name;
  std::string leader = "..... ";  // in perfex's listing, behind the name
  std::optional<EventCost> cost;
};

struct CostTable {
  std::string title;
  std::vector<CostedEvent>
      events;  // an event that two counters have is there twice
};

inline constexpr std::size_t kMaxCostFileBytes = 1 << 20;

// `file` is for messages. Errors: INVALID_ARGUMENT "FILE:LINE:COLUMN: ...".
absl::StatusOr<CostTable> ParseCostTable(std::string_view text,
                                         const std::string& file);

// The table that comes with the library: "r10000". Empty: there is none.
std::string_view ShippedCostTable(std::string_view name);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_STAT_COST_TABLE_H_
