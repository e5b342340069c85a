// Phases of a trace: stretches of time in which the machine does one thing.
//
// Method: binary segmentation. Each interval of a TimeSeries is a vector: the
// accounts' shares of CPU time, each event's rate, and the selected calls.
// Spikes shorter than kMinPhaseIntervals are no phase: for the cuts each value
// is the median of the five around it. A feature is measured in units of its
// scale: its noise (from the differences of neighbours), but at least 5 % of
// its range and 1 % of its largest value, so that neither noise nor small
// changes make phases. A stretch is cut where the cut lowers the sum of squared
// distances from the means most, if by more than 6 x features x ln(intervals),
// and if both parts have kMinPhaseIntervals; then the method repeats on the
// parts. Deterministic. Time: intervals x features x depth.
#ifndef COUNTRACE_RMAP_OVER_TIME_PHASES_H_
#define COUNTRACE_RMAP_OVER_TIME_PHASES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "rmap/over_time/over_time.h"

namespace countrace::rmap {

inline constexpr std::size_t kMinPhaseIntervals = 3;

// One number for each interval.
struct Feature {
  std::string name;    // "processes", "page-faults", ...
  bool share = false;  // of CPU time, 0 to 1; else a rate per second
  std::vector<double> values;
};

// The features of a series; without clocks, whose shares are there already.
std::vector<Feature> FeaturesOf(const TimeSeries& series);

struct Phase {
  std::size_t begin, end;     // intervals, half-open
  std::vector<double> means;  // one for each feature
  // Features whose mean differs by more than their scale from the previous
  // phase, largest change first.
  std::vector<std::size_t> changed;
};

// Requires: all features have the same number of values, at least 1.
std::vector<Phase> FindPhases(const std::vector<Feature>& features);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_OVER_TIME_PHASES_H_
