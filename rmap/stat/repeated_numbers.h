// The numbers of `countrace stat -r N`: the mean of N runs, and how sure it is.
//
// Thread: any; no state.
#ifndef COUNTRACE_RMAP_STAT_REPEATED_NUMBERS_H_
#define COUNTRACE_RMAP_STAT_REPEATED_NUMBERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rmap/stat/stat_numbers.h"

namespace countrace::rmap {

struct RepeatedNumber {
  std::string name;
  bool is_time = false, is_part = false;
  std::vector<std::uint64_t> values = {};  // of the runs that have the number
  double mean = 0;
  // Sample standard deviation, and the 95 % interval of the mean: Student's t,
  // and beyond it what bounds of runs leave open. Absent with one value; `hi`
  // also if a run has no upper limit. The error of an estimate in a run is a
  // part of the deviation.
  std::optional<double> deviation = {}, lo = {}, hi = {};
  Quality quality = Quality::kExact;  // the worst of the runs
  std::string note = "";              // of the first run that has one
};

// In the order of the first run; numbers of one name are one.
std::vector<RepeatedNumber> RepeatedNumbersOf(
    const std::vector<std::vector<StatNumber>>& runs);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_STAT_REPEATED_NUMBERS_H_
