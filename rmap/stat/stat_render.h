// Renders the numbers of `countrace stat`: text, JSON `countrace.stat/1`, CSV.
//
// Thread: any; no state.
#ifndef COUNTRACE_RMAP_STAT_STAT_RENDER_H_
#define COUNTRACE_RMAP_STAT_STAT_RENDER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rmap/report/render_options.h"
#include "rmap/stat/cost_table.h"
#include "rmap/stat/repeated_numbers.h"
#include "rmap/stat/stat_numbers.h"

namespace countrace::rmap {

struct StatResult {
  std::string of;  // "make -j2", "the machine", "pid 12", "cgroup /x"
  std::uint32_t cpus = 0;
  std::vector<std::vector<StatNumber>> runs;  // one with one run
  std::optional<int> exit_status;             // of the command's last run
  // `countrace.report/1` with the rows of processes and threads; empty: none.
  std::string rows_json;
  std::optional<CostTable> costs;  // of the counts
  std::vector<std::string> notes;  // lines of text, names escaped
};

// Lines of at most `width` columns where they can be so short.
std::string StatText(const StatResult& result, std::size_t width, bool color);
// One object. Times are ns; "hi" is null where there is no upper limit.
std::string StatJson(const StatResult& result);
// One line for each number: name, unit, value, lo, hi, standard_error,
// counted_share, quality, runs. With several runs `value` is their mean, and lo
// and hi are its 95 % interval.
std::string StatCsv(const StatResult& result);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_STAT_STAT_RENDER_H_
