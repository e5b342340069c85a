#include "rmap/tables/input/report_events.h"

#include <algorithm>

#include "logformat/block_point.h"
#include "logformat/read/named_value.h"
#include "logformat/system_call_exit.h"
#include "rmap/counters/event_set_dumps.h"
#include "rmap/values/call_values.h"

namespace countrace::rmap {

std::vector<EventPlan> FillEvents(const logformat::TraceInfo& info,
                                  const Gate& gate, Report& report) {
  report.block_points = std::any_of(
      info.hooks.begin(), info.hooks.end(),
      [](const auto& hook) { return logformat::IsBlockPoint(hook); });
  report.owners = !info.users.empty();
  report.system_calls = std::any_of(info.hooks.begin(), info.hooks.end(),
                                    logformat::IsSystemCall);
  report.value_names = logformat::ValueNames(info, /*exits=*/true);
  for (const logformat::HookInfo& hook : info.hooks) {
    if (hook.level == logformat::LevelScope::kNone) continue;
    report.value_names.try_emplace(kLevelValue + hook.name);
  }
  if (ValueTable values; FileCalls(info, values).any()) {
    report.file_values = true;
    report.value_names[kFileValue].integers = false;
  }
  std::vector<EventPlan> plans = PlanEvents(info);
  std::erase_if(plans, [&gate](const EventPlan& plan) {
    return !gate.CountsEvent(plan.name);
  });
  const EventSetDumps cpu_dumps(info.cpu_sets());
  const EventSetDumps thread_dumps(info.thread_sets());
  for (const EventPlan& plan : plans) {
    const bool cpu =
        plan.cpu_event && cpu_dumps.rotating().Has(*plan.cpu_event);
    const bool thread =
        plan.thread_event && thread_dumps.rotating().Has(*plan.thread_event);
    report.events.push_back({.name = plan.name, .scaled = cpu || thread});
  }
  return plans;
}

absl::StatusOr<Report> EmptyReport(const logformat::TraceInfo& info,
                                   const GatingRequest& gating) {
  const absl::Status checked = CheckRequest(info, gating);
  if (!checked.ok()) return checked;
  Report report;
  FillEvents(info, Gate(info, gating), report);
  return report;
}

}  // namespace countrace::rmap
