// The reports of several hosts as one: rows with their host, on the first
// host's clock; books and losses are sums.
#ifndef COUNTRACE_RMAP_HOSTS_MERGED_REPORT_H_
#define COUNTRACE_RMAP_HOSTS_MERGED_REPORT_H_

#include <functional>
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

using WantedEvents = std::function<bool(const std::string& event)>;

// `hosts`: at least one. Events are those of all that are `wanted`; a row has
// no count of what its host did not record. Samples and their tables are left
// out.
Report MergeReports(
    std::vector<HostReport> hosts,
    const WantedEvents& wanted = [](const std::string&) { return true; });

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_HOSTS_MERGED_REPORT_H_
