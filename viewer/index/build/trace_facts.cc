#include "viewer/index/build/trace_facts.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "logformat/description/recorded_part.h"
#include "rmap/columns/report_tables.h"

namespace countrace::viewer {
namespace {

// Titles, units and meanings of the page's columns, by the report's tables and
// names: a title is the report's, or "on-CPU self" of "on_cpu_ns.excl" and
// "mean" of "wall_ns.mean".
nlohmann::json ColumnsJson(const rmap::Report& report) {
  nlohmann::json json;
  rmap::ForEachTable([&](const auto& table) {
    std::string title;
    for (const auto& column : ColumnsOf(table, report)) {
      const std::string& last = column.name.back();
      title = !column.title.empty() ? column.title
              : last == "excl"      ? title + " self"
                                    : last;
      // The page has no columns of these, and there may be a hundred.
      if (column.name[0] == "errors" || column.name[0] == "scaled") continue;
      json[table.name][FullName(column)] = {{"title", title},
                                            {"unit", UnitName(column.unit)},
                                            {"meaning", column.meaning}};
    }
  });
  return json;
}

}  // namespace

std::string TraceFacts(const rmap::Report& report,
                       const logformat::TraceInfo& info,
                       const CollectionOddities& oddities, std::size_t losses,
                       std::uint64_t begin_ns,
                       std::optional<std::uint64_t> part_from_ns) {
  nlohmann::json facts;
  facts["path"] = report.path;
  facts["scope"] = report.scope;
  facts["command"] = report.command;
  facts["hostname"] = report.hostname;
  facts["kernel_release"] = report.kernel_release;
  facts["records"] = report.records;
  facts["wakeups"] = report.wakeups;
  facts["finished"] = report.finished;
  facts["columns"] = ColumnsJson(report);
  if (part_from_ns) facts["part_from_ns"] = *part_from_ns;
  facts["realtime_offset_ns"] =
      std::to_string(info.realtime_offset_ns);  // beyond 2^53
  const std::size_t events =
      std::min(info.cpu_events.size(), kMaxIndexedEvents);
  facts["events"] = std::vector<std::string>(
      info.cpu_events.begin(),
      info.cpu_events.begin() + static_cast<std::ptrdiff_t>(events));
  for (std::size_t i = 0; i < events; ++i) {
    if (info.cpu_sets().SetOf(i)) facts["events_in_turns"].push_back(i);
  }
  nlohmann::json& triggers = facts["triggers"];
  triggers = nlohmann::json::array();
  for (const logformat::TriggerFiring& trigger : info.triggers) {
    if (triggers.size() == 1000) break;  // bounded, as every answer is
    if (part_from_ns && (trigger.time_ns < report.begin_ns ||
                         trigger.time_ns > report.end_ns)) {
      continue;
    }
    triggers.push_back(
        {{"t", trigger.time_ns - std::min(trigger.time_ns, begin_ns)},
         {"trigger", trigger.trigger},
         {"what", trigger.what}});
  }
  nlohmann::json& loss = facts["loss"];
  const logformat::LossStatement statement = logformat::StateLoss(report.loss);
  loss["text"] = statement.text;
  loss["complete"] = statement.complete;
  for (const auto& [name, number] : statement.numbers) loss[name] = number;
  loss["by_cause"] = report.loss.by_cause;
  loss["intervals"] = losses;
  // Bounded, as every answer is.
  loss["messages"] = std::vector<std::string>(
      report.loss.messages.begin(),
      report.loss.messages.begin() +
          static_cast<std::ptrdiff_t>(
              std::min<std::size_t>(report.loss.messages.size(), 50)));
  if (report.pauses != 0) {
    loss["messages"].push_back(
        logformat::PausesText(report.pauses, report.left_out_ns));
  }
  if (events < info.cpu_events.size()) {
    loss["messages"].push_back(absl::StrFormat(
        "%d of %d events are shown here, the first ones; `countrace report` "
        "has all",
        events, info.cpu_events.size()));
  }
  facts["oddities"] = {{"clipped", oddities.clipped},
                       {"displaced", oddities.displaced},
                       {"out_of_order", oddities.out_of_order},
                       {"too_deep", oddities.too_deep}};
  return facts.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace countrace::viewer
