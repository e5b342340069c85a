#include "viewer/server/api/trees_api.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/text/name_escape.h"
#include "logformat/read/trace_reader.h"
#include "rmap/metrics/tree_over_time.h"
#include "rmap/report/report_views.h"
#include "rmap/tables/input/report_events.h"
#include "viewer/server/tables/trace_report.h"
#include "viewer/server/wire/api_answer.h"
#include "viewer/server/wire/api_bounds.h"

namespace countrace::viewer {
namespace {

using Json = nlohmann::json;
using rmap::metrics::KnownTree;
using rmap::metrics::TreeInterval;

Json IntervalJson(const TreeInterval& interval, std::size_t tree,
                  std::uint64_t begin_ns) {
  rmap::Report shown;
  shown.tree_table = std::make_shared<rmap::TreeTable>(interval.tables[tree]);
  std::erase_if(shown.tree_table->rows,
                [](const rmap::TreeRow& row) { return !row.in_tree; });
  Json rows = Json::array();
  rmap::ForEachJsonRow(shown, {.by = rmap::ReportBy::kTree},
                       [&rows](const auto& row) { rows.push_back(Json(row)); });
  return {{"from", interval.from_ns - begin_ns},
          {"to", interval.until_ns - begin_ns},
          {"rows", std::move(rows)}};
}

}  // namespace

HttpResponse AnswerTrees(const TimelineIndex& index, const TraceEvents* events,
                         ApiQuery& query) {
  if (events == nullptr) return AnswerJson({{"trees", Json::array()}});
  const auto range = ReportRange(index, query, "from", "to");
  if (!range) return Refuse(400, query.error());
  const auto most =
      query.Number("intervals", kMaxTreeIntervals, kMaxTreeIntervals);
  if (!most) return Refuse(400, query.error());
  std::atomic<std::uint64_t>& newest = events->newest_trees();
  const std::uint64_t own = ++newest;
  const std::string path = events->trace_path();
  std::vector<std::string> counted;
  {
    const auto reader = logformat::TraceReader::Open(path);
    if (!reader.ok())
      return Refuse(500, std::string(reader.status().message()));
    for (const auto& event : rmap::PlanEvents((*reader)->info())) {
      counted.push_back(event.name);
    }
  }
  const auto trees = rmap::metrics::TreesOf(events->rule_files(), counted);
  if (!trees.ok()) return Refuse(400, std::string(trees.status().message()));
  Json answer = {{"trees", Json::array()}};
  if (trees->empty()) return AnswerJson(answer);
  std::vector<rmap::metrics::TreeRequest> requests;
  for (const KnownTree& tree : *trees) {
    rmap::metrics::TreeRequest& request = requests.emplace_back();
    request.rules = &tree.rules;
    request.tree = tree.name;
  }
  const std::uint64_t begin_ns = index.header().begin_ns;
  const std::uint64_t end_ns = begin_ns + index.header().duration_ns;
  rmap::metrics::TreeIntervals in{
      .begin_ns = std::clamp(range->from_ns, begin_ns, end_ns),
      .end_ns = std::min(range->until_ns, end_ns),
      .until_ns = range->until_ns};
  const Json facts = Json::parse(index.facts(), nullptr, false);
  const std::uint64_t records =
      facts.is_object() ? facts.value("records", std::uint64_t{0}) : 0;
  const std::uint64_t passes = std::clamp<std::uint64_t>(
      kMostTreeRecords / std::max<std::uint64_t>(records, 1), 1,
      std::max<std::uint64_t>(*most, 1));
  in.every_ns = (in.end_ns - in.begin_ns) / passes + 1;
  const auto intervals = rmap::metrics::TreesOverTime(
      in, requests,
      [&path, &newest, own](std::uint64_t from_ns, std::uint64_t until_ns)
          -> absl::StatusOr<rmap::Report> {
        // Other tables are made between two passes.
        const auto turn = TurnToReport([&] { return newest == own; });
        if (!turn.owns_lock()) return absl::CancelledError();
        return ReportOf(path, {from_ns, until_ns}, {},
                        [&newest, own](const logformat::Progress&) {
                          return newest == own;
                        });
      });
  malloc_trim(0);
  if (absl::IsCancelled(intervals.status())) {
    return Refuse(409, "A later request took the place of this one");
  }
  if (!intervals.ok()) {
    return Refuse(500, std::string(intervals.status().message()));
  }
  answer["every"] = in.every_ns;
  for (std::size_t i = 0; i < trees->size(); ++i) {
    Json parts = Json::array();
    for (const TreeInterval& interval : *intervals) {
      parts.push_back(IntervalJson(interval, i, begin_ns));
    }
    answer["trees"].push_back(
        {{"name", base::EscapeName((*trees)[i].name)},
         {"title", base::EscapeName(intervals->front().tables[i].title)},
         {"intervals", std::move(parts)}});
  }
  return AnswerJson(answer);
}

}  // namespace countrace::viewer
