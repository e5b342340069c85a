#include "rmap/tables/rows/fault_rows.h"

#include <algorithm>
#include <tuple>

#include "logformat/trace_info.h"

namespace countrace::rmap {

void BuildFaults(const TableInput& input, Report& report) {
  report.fault_records = input.in.fault_records;
  for (const ProcessState& process : input.in.registry.processes()) {
    for (const auto& [place, sum] : process.faults.sums()) {
      FaultRow row;
      row.pid = process.pid;
      row.process = process.index;
      row.comm = process.comm;
      const logformat::HookInfo* const hook =
          place.hook_id == 0 ? nullptr : input.in.info.FindHook(place.hook_id);
      if (hook != nullptr) row.kind = hook->name;
      if (place.range != FaultPlace::kOtherRanges) {
        row.address = place.range << FaultPlace::kRangeBits;
      }
      row.faults = sum.faults;
      if (hook != nullptr) row.major = sum.major;
      report.faults.push_back(std::move(row));
    }
  }
  std::ranges::sort(report.faults, [](const FaultRow& a, const FaultRow& b) {
    return std::tie(b.faults, a.comm, a.pid, a.process, a.kind, a.address) <
           std::tie(a.faults, b.comm, b.pid, b.process, b.kind, b.address);
  });
}

}  // namespace countrace::rmap
