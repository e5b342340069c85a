// Reports of runs of a small machine whose true means are known, for the
// property tests of the comparison.
#ifndef COUNTRACE_TESTS_RMAP_DIFF_SIMULATED_RUNS_H_
#define COUNTRACE_TESTS_RMAP_DIFF_SIMULATED_RUNS_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "rmap/result/tables.h"

namespace countrace::test_support {

struct TrueSegment {
  std::string process;
  std::vector<std::string> path;
  double calls = 100;
  // Means, exclusive.
  double on_cpu_ns_per_call = 1000, off_cpu_ns_per_call = 0;
  double faults_per_call = 0;
};

struct TrueProgram {
  std::vector<TrueSegment> segments;  // parents before their children
  double outside_ns = 50'000;         // on-CPU, for each process
};

struct Noise {
  // Relative deviation of one run's numbers from their means: for each row
  // alone, and for all rows of a run together.
  double of_row = 0.05, of_run = 0;
  bool skewed = false;            // lognormal, as real times are; else normal
  bool whole_calls_vary = false;  // the number of calls is Poisson, too
  // Student's t with three degrees of freedom instead of the normal
  // distribution: now and then a number is far off.
  bool heavy_tails = false;
  // A tenth of the runs is slower by this part in every row, as after an
  // unlucky placement.
  double slow_runs = 0;
};

using Random = std::mt19937_64;

// `processes` programs with `rows` segments together, with random call paths
// and means.
TrueProgram RandomProgram(std::size_t processes, std::size_t rows,
                          Random& random);

rmap::Report SimulateRun(const TrueProgram& program, const Noise& noise,
                         Random& random);
std::vector<rmap::Report> SimulateRuns(std::size_t runs,
                                       const TrueProgram& program,
                                       const Noise& noise, Random& random);

// Moves a part of the on-CPU time of `row` of segment_paths, and of its
// process, to the books' unattributed account, as after lost dispatches.
void LoseOnCpu(rmap::Report& report, std::size_t row, double part);

}  // namespace countrace::test_support

#endif  // COUNTRACE_TESTS_RMAP_DIFF_SIMULATED_RUNS_H_
