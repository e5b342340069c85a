// The reports of several hosts as one: rows with their host, on the first
// host's clock; books and losses are sums.
#ifndef COUNTRACE_RMAP_HOSTS_MERGED_REPORT_H_
#define COUNTRACE_RMAP_HOSTS_MERGED_REPORT_H_

#include <string>
#include <vector>

#include "rmap/hosts/host_clock.h"
#include "rmap/result/tables.h"

namespace countrace::rmap {

struct HostReport {
  std::string name;
  HostClock clock;
  Report report;
};

// `hosts`: at least one. Events are those of all; a row has no count of what
// its host did not record. Samples and their tables are left out.
Report MergeReports(std::vector<HostReport> hosts);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_HOSTS_MERGED_REPORT_H_
