// Notes below a table of samples: what gives names to code that has none here,
// for the programs at hand.
//
// Thread: any.
#ifndef COUNTRACE_RMAP_SAMPLES_NAMES_NAME_REMEDIES_H_
#define COUNTRACE_RMAP_SAMPLES_NAMES_NAME_REMEDIES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "rmap/result/tables.h"

namespace countrace::rmap {

// Innermost frames in a bucket of the table.
struct UnnamedCode {
  std::string bucket;      // of the function or source; other names are ignored
  std::string dso;         // file of the code
  std::uint64_t hits = 0;  // samples
};

// For buckets with 1 % of the samples: most first, three of a bucket. `chosen`:
// of Samples::contexts; empty: all. `known`: notes of files that have none for
// another reason. Requires: report.samples.
std::vector<std::string> NameRemedies(const Report& report,
                                      const std::vector<bool>& chosen,
                                      const std::vector<std::string>& known,
                                      const std::vector<UnnamedCode>& code);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_NAMES_NAME_REMEDIES_H_
