#include "viewer/server/tables/narrowed_tables.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "viewer/index/range/run_totals.h"
#include "viewer/server/tables/row_condition.h"
#include "viewer/server/wire/range_json.h"

namespace countrace::viewer {
namespace {

using Json = nlohmann::json;

bool Has(const std::vector<bool>& chosen, std::uint32_t number) {
  return number < chosen.size() && chosen[number];
}

// Keeps the rows that `keep` is true of; returns the sum of the others.
template <typename Row, typename Keep>
Json Narrow(std::vector<Row>& rows, std::uint32_t events, Keep keep) {
  RunTotals rest;
  rest.counts.resize(events);
  const auto gone = std::stable_partition(rows.begin(), rows.end(), keep);
  const auto number = rows.end() - gone;
  for (auto row = gone; row != rows.end(); ++row) AddTotals(rest, row->run);
  rows.erase(gone, rows.end());
  Json json = RunJson(rest);
  json["rows"] = number;
  return json;
}

template <typename Row, typename Keep>
Json NarrowCalls(std::vector<Row>& rows, Keep keep) {
  const auto gone = std::stable_partition(rows.begin(), rows.end(), keep);
  const auto number = rows.end() - gone;
  rows.erase(gone, rows.end());
  return {{"rows", number}};
}

}  // namespace

absl::StatusOr<Json> NarrowTables(const TimelineIndex& index, TimeRange range,
                                  std::string_view where,
                                  const rmap::Report* report,
                                  SortedTables& tables) {
  const auto selected = SelectTablesIn(index, range, where, report);
  if (!selected.ok()) return selected.status();
  const std::uint32_t events = index.header().events;
  Json rest = Json::object();
  if (selected->processes) {
    rest["processes"] =
        Narrow(tables.totals.processes, events, [&](const ProcessTotals& row) {
          return Has(*selected->processes, row.process);
        });
  }
  if (selected->threads) {
    rest["threads"] =
        Narrow(tables.threads, events, [&](const ThreadTotals& row) {
          return Has(*selected->threads, row.thread);
        });
  }
  if (selected->segments) {
    rest["segments"] =
        NarrowCalls(tables.totals.segments, [&](const SegmentTotals& row) {
          return selected->segments->contains({row.process, row.hook_id});
        });
  }
  if (selected->of_names && selected->processes) {
    rest["hooks"] =
        NarrowCalls(tables.totals.hooks, [&](const HookTotals& row) {
          return Has(*selected->processes, row.process);
        });
    rest["waits"] = NarrowCalls(tables.waits, [&](const WaitRow& row) {
      return Has(*selected->processes, row.process);
    });
  }
  return rest;
}

}  // namespace countrace::viewer
