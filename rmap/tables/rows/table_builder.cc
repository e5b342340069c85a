#include "rmap/tables/rows/table_builder.h"

#include <cstdint>
#include <vector>

#include "rmap/tables/input/report_events.h"
#include "rmap/tables/rows/books.h"
#include "rmap/tables/rows/cpu_rows.h"
#include "rmap/tables/rows/fault_rows.h"
#include "rmap/tables/rows/hook_rows.h"
#include "rmap/tables/rows/level_rows.h"
#include "rmap/tables/rows/preemptor_rows.h"
#include "rmap/tables/rows/segment_rows.h"
#include "rmap/tables/rows/system_call_rows.h"
#include "rmap/tables/rows/task_rows.h"
#include "rmap/tables/rows/waker_rows.h"

namespace countrace::rmap {

void BuildTables(const TableSources& sources, Report& report) {
  sources.registry.SettleProcesses();
  report.wanted = sources.rows;
  TableInput input(sources,
                   FillEvents(sources.info, sources.registry.gate(), report));
  for (const ProcessState& process : sources.registry.processes()) {
    for (const std::uint64_t hits : process.hits.hits) {
      report.own_cost.hook_records += hits;
    }
    report.own_cost.hook_dumps += process.hits.dumps;
  }
  UnseenBounds bounds(input);
  BuildThreads(input, bounds, report);
  const std::vector<ProcessRow> processes =
      BuildProcesses(input, bounds, report);
  BuildCpus(input, bounds, report);
  ChooseSegmentSources(processes, input, report);
  BuildWakers(sources, bounds, report);
  BuildSegments(input, bounds, report);
  BuildBooks(processes, input, report);
  BuildHooks(input, report);
  BuildFaults(input, report);
  BuildLevels(input, report);
  BuildPreemptors(sources, report);
  report.system_call_rows = SystemCallRows(report.segments);
}

}  // namespace countrace::rmap
