// Some hundred simulated machines, by what is odd about their traces.
#ifndef COUNTRACE_TESTS_RMAP_MACHINE_FAMILIES_H_
#define COUNTRACE_TESTS_RMAP_MACHINE_FAMILIES_H_

#include <cstdint>
#include <vector>

#include "rmap/pipeline.h"
#include "tests/rmap/simulated_machine.h"

namespace countrace::test_support {

struct Machine {
  Simulation run;
  rmap::PipelineOptions options;
};

struct MachineFamily {
  const char* name;
  std::uint32_t machines;
  Machine (*make)(std::uint32_t seed);
};
const std::vector<MachineFamily>& MachineFamilies();

}  // namespace countrace::test_support

#endif  // COUNTRACE_TESTS_RMAP_MACHINE_FAMILIES_H_
