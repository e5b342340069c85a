// A run of several hosts as one report, for a comparison.
#ifndef COUNTRACE_RMAP_HOSTS_MERGED_RUN_H_
#define COUNTRACE_RMAP_HOSTS_MERGED_RUN_H_

#include <string>
#include <utility>
#include <vector>

#include "rmap/result/tables.h"

namespace countrace::rmap {

// `hosts`: at least one, each with its name. Processes are named HOST/COMM,
// since a comparison aligns them by name. Each trace begins at 0: what is
// elapsed is that of the longest one, and no common clock is needed. What not
// all hosts have, events or the kernel's records, is left out: it is not 0.
Report MergeRun(std::vector<std::pair<std::string, Report>> hosts);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_HOSTS_MERGED_RUN_H_
