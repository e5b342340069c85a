// Makes the numbers to compare from the rows of several runs.
#ifndef COUNTRACE_RMAP_DIFF_SAMPLES_H_
#define COUNTRACE_RMAP_DIFF_SAMPLES_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "rmap/diff/aligned_rows.h"
#include "rmap/diff/difference.h"

namespace countrace::rmap::diff {

enum class Part : bool { kSelf, kInclusive };

// One value for each run. Absent: unknown in a run, or, for values per call, a
// run without calls.
std::optional<Sample> SumsOf(const std::vector<RowOfRun>& runs,
                             std::size_t index, Part part);
std::optional<Sample> PerCallOf(const std::vector<RowOfRun>& runs,
                                std::size_t index, Part part);
Sample CallsOf(const std::vector<RowOfRun>& runs);
std::optional<Sample> TotalsOf(const std::vector<Report>& reports,
                               const Metric& metric);
Sample ElapsedOf(const std::vector<Report>& reports);

// The worst quality of one metric in all runs.
Quality QualityOf(const std::vector<RowOfRun>& runs, std::size_t index);

}  // namespace countrace::rmap::diff

#endif  // COUNTRACE_RMAP_DIFF_SAMPLES_H_
