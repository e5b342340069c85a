#include "viewer/server/tables/final_tables.h"

#include <algorithm>
#include <cstdint>

namespace countrace::viewer {

bool AreFinal(const TimelineIndex& index, TimeRange range,
              const SortedTables& tables) {
  const auto is_exact = []<typename Row>(const Row& row) {
    if constexpr (requires { row.run; }) {
      return !row.run.qualities.any() && !row.run.incomplete;
    } else {
      return !row.qualities.any();
    }
  };
  const auto all = [&](const auto& rows) {
    return std::all_of(rows.begin(), rows.end(), is_exact);
  };
  if (!index.losses().empty() || tables.totals.unknown_ns != 0 ||
      !index.HasAll(0, ~std::uint64_t{0}) ||
      std::any_of(index.groups().begin(), index.groups().end(),
                  [](const GroupEntry& group) {
                    return (group.flags & kGroupUnsure) != 0;
                  })) {
    return false;
  }
  if (range.begin_ns != 0 || range.end_ns < index.duration_ns()) {
    for (std::uint32_t event = 0; event < index.header().events; ++event) {
      if (index.RuleOf(event) == CountRule::kSpread) return false;
    }
  }
  return all(tables.totals.processes) && all(tables.totals.segments) &&
         all(tables.threads) && all(tables.cpus) && all(tables.waits);
}

}  // namespace countrace::viewer
