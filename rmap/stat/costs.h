// Counts times what one event costs: estimated time, most first.
//
// Thread: any; no state.
#ifndef COUNTRACE_RMAP_STAT_COSTS_H_
#define COUNTRACE_RMAP_STAT_COSTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "rmap/stat/cost_table.h"
#include "rmap/stat/stat_numbers.h"

namespace countrace::rmap {

struct CountedEvent {
  std::string name;
  double value = 0;
  double lo = 0,
         hi = 0;  // the interval that holds the truth; hi may be infinite
};

// The counts of one run or the means of several.
std::vector<CountedEvent> CountedEvents(
    const std::vector<std::vector<StatNumber>>& runs);

// The counts in a file of `countrace stat --csv`, or in the listing of IRIX
// perfex: "Cycles..... 7945053664". Errors: INVALID_ARGUMENT "FILE:LINE: ...".
absl::StatusOr<std::vector<CountedEvent>> ParseCounts(std::string_view text,
                                                      const std::string& file);

struct CostRow {
  CountedEvent counted;
  double typical_ns = 0;
  double min_ns = 0, max_ns = 0;  // with the interval of the count
};

// Events with a cost in `table`, by typical time. The second count of a name
// belongs to the second event of that name.
std::vector<CostRow> CostsOf(const CostTable& table,
                             const std::vector<CountedEvent>& counts);

// Two counts of one event, as by two counters in turns: how far they are apart.
struct CountedTwice {
  std::string name;
  double first = 0, second = 0;
  double apart = 0;  // of the larger one, 0 to 1
};
std::vector<CountedTwice> EventsCountedTwice(
    const std::vector<CountedEvent>& counts);

// A table of the costs, and a line for each event that was counted twice and
// differs.
std::string CostsText(const CostTable& table,
                      const std::vector<CountedEvent>& counts,
                      std::size_t width, bool color);
// The counts as IRIX perfex lists them, in the table's order.
std::string PerfexText(const CostTable& table,
                       const std::vector<CountedEvent>& counts);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_STAT_COSTS_H_
