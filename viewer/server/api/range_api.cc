#include "viewer/server/api/range_api.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "viewer/index/range/call_durations.h"
#include "viewer/index/range/cpu_totals.h"
#include "viewer/index/range/range_totals.h"
#include "viewer/index/range/rare_events.h"
#include "viewer/server/tables/final_tables.h"
#include "viewer/server/tables/narrowed_tables.h"
#include "viewer/server/tables/table_order.h"
#include "viewer/server/tables/unlisted_names.h"
#include "viewer/server/wire/api_answer.h"
#include "viewer/server/wire/api_bounds.h"
#include "viewer/server/wire/range_json.h"
#include "viewer/server/wire/wait_json.h"

namespace countrace::viewer {
namespace {

using Json = nlohmann::json;

struct Wanted {
  RangeTables totals;
  bool threads = false, cpus = false, waits = false;
};

// Absent: a table has a wrong name.
std::optional<Wanted> WantedTables(const ApiQuery& query) {
  if (!query.Has("tables")) return Wanted{};
  Wanted wanted{.totals = {.segments = false, .hooks = false}};
  const std::vector<std::string> names =
      absl::StrSplit(std::string(query.Word("tables")), ',');
  for (const std::string& name : names) {
    if (name == "segments") {
      wanted.totals.segments = true;
    } else if (name == "paths") {
      wanted.totals.paths = true;
    } else if (name == "hooks") {
      wanted.totals.hooks = true;
    } else if (name == "threads") {
      wanted.threads = true;
    } else if (name == "cpus") {
      wanted.cpus = true;
    } else if (name == "waits") {
      wanted.waits = true;
    } else if (name != "processes") {
      return std::nullopt;
    }
  }
  return wanted;
}

// The rows that were requested, of a table that was.
struct Page {
  std::uint64_t offset, limit;

  template <typename Row, typename Write>
  void Put(Json& answer, const std::string& name, bool wanted,
           const std::vector<Row>& rows, Write write) const {
    const std::size_t begin = std::min<std::uint64_t>(offset, rows.size());
    Json items = Json::array();
    for (const Row& row : std::span(rows).subspan(
             begin, std::min<std::size_t>(limit, rows.size() - begin))) {
      items.push_back(write(row));
    }
    answer[name] = std::move(items);
    answer[name + "_total"] = wanted ? Json(rows.size()) : Json(nullptr);
  }
};

// `top` processes from `first` on, and the sum of the others.
template <typename Write>
void PutProcesses(Json& answer, const RangeTotals& totals, std::uint64_t first,
                  std::uint64_t top, std::uint32_t events, Write write) {
  Json processes = Json::array();
  RunTotals others;
  others.counts.resize(events);
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < totals.processes.size(); ++i) {
    const ProcessTotals& row = totals.processes[i];
    if (i < first || processes.size() >= top) {
      ++left_out;
      AddTotals(others, row.run);
      continue;
    }
    processes.push_back(write(row));
  }
  answer["processes"] = std::move(processes);
  answer["processes_left_out"] = left_out;
  answer["others"] = RunJson(others);
}

// What all rows of a table have together, of the numbers that add up.
void PutSums(Json& answer, const SortedTables& tables, const Wanted& wanted,
             std::uint32_t events) {
  const auto sum = [](const auto& rows, auto number) {
    std::uint64_t total = 0;
    for (const auto& row : rows) total += row.*number;
    return total;
  };
  Json& sums = answer["sums"];
  sums = Json::object();
  const auto of_calls = [&]<typename Row>(const std::vector<Row>& rows) {
    const bool known =
        std::all_of(rows.begin(), rows.end(),
                    [](const Row& row) { return row.on_cpu_known; });
    return Json::object(
        {{"calls", sum(rows, &Row::calls)},
         {"wall_ns", {{"excl", sum(rows, &Row::wall_excl_ns)}}},
         {"on_cpu_ns",
          known ? Json::object({{"excl", sum(rows, &Row::on_cpu_excl_ns)}})
                : Json(nullptr)}});
  };
  if (wanted.totals.segments) {
    sums["segments"] = of_calls(tables.totals.segments);
  }
  if (wanted.totals.paths) sums["paths"] = of_calls(tables.totals.paths);
  if (wanted.totals.hooks) {
    sums["hooks"] = {{"hits", sum(tables.totals.hooks, &HookTotals::hits)}};
  }
  if (wanted.waits) {
    sums["waits"] = {{"ns", sum(tables.waits, &WaitRow::ns)},
                     {"times", sum(tables.waits, &WaitRow::times)}};
  }
  if (wanted.threads) {
    RunTotals run;
    run.counts.resize(events);
    std::uint64_t blocked_ns = 0;
    bool blocked = false;
    for (const ThreadTotals& row : tables.threads) {
      AddTotals(run, row.run);
      blocked |= row.blocked_ns.has_value();
      blocked_ns += row.blocked_ns.value_or(0);
    }
    Json& threads = sums["threads"];
    threads = {{"on_cpu_ns", run.on_cpu_ns},
               {"wait_ns", sum(tables.threads, &ThreadTotals::wait_ns)},
               {"blocked_ns", blocked ? Json(blocked_ns) : Json(nullptr)},
               {"dispatches", run.dispatches},
               {"counts", RunJson(run)["counts"]}};
  }
}

// What an answer is of.
struct AggregateRequest {
  TimeRange range;
  Page page;
  std::uint64_t first, top;  // of the processes
  Wanted wanted;
  bool descending;

  // Only the rows of the page need their place. Any other column than the first
  // sorts all rows anew, from their order; what a condition leaves of them is
  // in order if all are.
  std::size_t InOrder() const {
    const auto end_of = [](std::uint64_t from, std::uint64_t count) {
      return from + std::min(count, ~std::uint64_t{0} - from);
    };
    return static_cast<std::size_t>(
        std::max(end_of(page.offset, page.limit), end_of(first, top)));
  }
};

// Returns: what is wrong with the query.
std::optional<HttpResponse> ReadRequest(ApiQuery& query,
                                        AggregateRequest& request) {
  const std::optional<TimeRange> range = query.Range();
  if (!range) return Refuse(400, query.error());
  request.range = *range;
  const struct {
    const char* name;
    std::uint64_t otherwise, most;
    std::uint64_t& value;
  } numbers[] = {{"offset", 0, ~std::uint64_t{0}, request.page.offset},
                 {"limit", kMaxTableRows, kMaxTableRows, request.page.limit},
                 {"first", 0, ~std::uint64_t{0}, request.first},
                 {"top", kMaxTableRows, kMaxTableRows, request.top}};
  for (const auto& number : numbers) {
    const std::optional<std::uint64_t> value =
        query.Number(number.name, number.otherwise, number.most);
    if (!value) return Refuse(400, query.error());
    number.value = *value;
  }
  const std::optional<Wanted> wanted = WantedTables(query);
  if (!wanted) {
    return Refuse(400,
                  "Parameter tables: expected processes, threads, segments, "
                  "paths, hooks, cpus and waits, separated by commas");
  }
  request.wanted = *wanted;
  const std::string_view order = query.Word("order");
  if (query.Has("order") && order != "ascending" && order != "descending") {
    return Refuse(400, "Parameter order: expected ascending or descending");
  }
  request.descending = order != "ascending";
  return std::nullopt;
}

// Also what a condition left out of them, in `unselected`. Returns: why not.
std::optional<HttpResponse> FillTables(const TimelineIndex& index,
                                       ApiQuery& query,
                                       const AggregateRequest& request,
                                       const rmap::Report* report,
                                       SortedTables& tables, Json& answer) {
  const auto sorted = [&](std::string_view by) {
    return (!query.Has("sort") ||
            (query.Word("sort") == by && request.descending)) &&
                   !query.Has("where")
               ? request.InOrder()
               : ~std::size_t{0};
  };
  const Wanted& wanted = request.wanted;
  if (report == nullptr) {
    RangeTables totals = wanted.totals;
    totals.sorted_segments = sorted("wall_ns.excl");
    tables.totals = TotalsIn(index, request.range, totals);
    if (wanted.threads) tables.threads = ThreadsIn(index, request.range);
    if (wanted.cpus) tables.cpus = CpusIn(index, request.range);
    if (wanted.waits) {
      absl::StatusOr<std::vector<WaitRow>> waits =
          WaitsIn(index, request.range, sorted("ns"));
      if (!waits.ok()) return Refuse(waits.status());
      tables.waits = *std::move(waits);
    }
    answer["final"] = AreFinal(index, request.range, tables);
  } else {
    if (!wanted.totals.segments) tables.totals.segments.clear();
    if (!wanted.totals.hooks) tables.totals.hooks.clear();
    if (!wanted.threads) tables.threads.clear();
  }
  if (query.Has("where")) {
    const std::optional<std::string> where = query.Text("where");
    if (!where) return Refuse(400, query.error());
    absl::StatusOr<Json> rest =
        NarrowTables(index, request.range, *where, report, tables);
    if (!rest.ok()) return Refuse(rest.status());
    answer["unselected"] = *std::move(rest);
  }
  if (query.Has("sort") && !SortTables(index,
                                       {.column = query.Word("sort"),
                                        .descending = request.descending,
                                        .rows = request.InOrder()},
                                       tables)) {
    return Refuse(400, absl::StrFormat("No table has the column: sort=%s",
                                       query.Word("sort")));
  }
  return std::nullopt;
}

}  // namespace

HttpResponse AnswerAggregate(const TimelineIndex& index, ApiQuery& query,
                             const rmap::Report* report, SortedTables tables) {
  AggregateRequest request{};
  if (auto refused = ReadRequest(query, request)) return *std::move(refused);
  Json answer = {{"from", request.range.begin_ns},
                 {"to", request.range.end_ns},
                 {"final", true}};
  if (auto refused =
          FillTables(index, query, request, report, tables, answer)) {
    return *std::move(refused);
  }
  const Page& page = request.page;
  const Wanted& wanted = request.wanted;
  const RangeTotals& totals = tables.totals;
  answer["cpu_ns"] = totals.cpu_ns;
  answer["unknown_ns"] = totals.unknown_ns;
  answer["interrupts_ns"] = totals.interrupts_ns;
  answer["idle"] = RunJson(totals.idle);
  answer["outside"] = RunJson(totals.outside);
  if (report != nullptr) {
    // It has none of these.
    for (const char* rest : {"idle", "outside"}) {
      answer[rest]["dispatches"] = nullptr;
    }
  }
  const rmap::EventColumns events =
      report == nullptr ? rmap::EventColumns() : report->events;
  const UnlistedNames names =
      report == nullptr ? UnlistedNames() : UnlistedNames(index, *report);
  const auto with_limits = [&](auto write) {
    return [&events, &names, write](const auto& row) {
      Json item = WithBounds(events, row, write(row));
      names.Put(row, item);
      return item;
    };
  };
  PutProcesses(answer, totals, request.first, request.top,
               index.header().events, with_limits(ProcessJson));
  page.Put(answer, "segments", wanted.totals.segments, totals.segments,
           with_limits(SegmentJson));
  if (wanted.totals.paths) {
    page.Put(answer, "paths", true, totals.paths,
             [&index](const PathTotals& row) { return PathJson(index, row); });
  }
  page.Put(answer, "hooks", wanted.totals.hooks, totals.hooks,
           with_limits(HookJson));
  if (wanted.threads) {
    page.Put(answer, "threads", true, tables.threads, with_limits(ThreadJson));
  }
  if (wanted.cpus) {
    page.Put(answer, "cpus", true, tables.cpus, with_limits(CpuJson));
  }
  if (wanted.waits) page.Put(answer, "waits", true, tables.waits, WaitRowJson);
  PutSums(answer, tables, wanted, index.header().events);
  return AnswerJson(answer);
}

namespace {

HttpResponse Durations(const TimelineIndex& index, ApiQuery& query) {
  std::uint64_t numbers[2];
  constexpr std::string_view kNames[] = {"process", "hook"};
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    const std::optional<std::uint64_t> value =
        query.Number(kNames[i], std::nullopt);
    if (!value) return Refuse(400, query.error());
    numbers[i] = *value;
  }
  const auto [process, hook] = numbers;
  const std::optional<TimeRange> range = query.Range();
  if (!range) return Refuse(400, query.error());
  const auto narrow = [](std::uint64_t number) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(number, kNoKey));
  };
  const auto least_ns = query.Number("least_ns", DurationRange().least_ns);
  if (!least_ns) return Refuse(400, query.error());
  const auto most_ns = query.Number("most_ns", DurationRange().most_ns);
  if (!most_ns) return Refuse(400, query.error());
  const absl::StatusOr<CallDurations> durations = DurationsIn(
      index, narrow(process), narrow(hook), *range, {*least_ns, *most_ns});
  if (!durations.ok()) return Refuse(durations.status());
  return AnswerJson(DurationsJson(process, hook, *durations));
}

HttpResponse Longest(const TimelineIndex& index) {
  const std::vector<LongestCall> calls = LongestCalls(index);
  Json items = Json::array();
  for (const auto& [hook, call] :
       std::span(calls).first(std::min(calls.size(), kMaxTableRows))) {
    items.push_back({{"hook", hook},
                     {"thread", call.thread},
                     {"begin_ns", call.range.begin_ns},
                     {"end_ns", call.range.end_ns}});
  }
  return AnswerJson({{"total", calls.size()}, {"items", std::move(items)}});
}

HttpResponse Hits(const TimelineIndex& index, ApiQuery& query) {
  const auto hook = query.Number("hook", std::nullopt, kNoKey);
  if (!hook) return Refuse(400, query.error());
  const std::optional<TimeRange> range = query.Range();
  if (!range) return Refuse(400, query.error());
  const auto columns =
      query.Number("columns", kMaxHitsColumns, kMaxHitsColumns);
  if (!columns) return Refuse(400, query.error());
  if (*columns == 0) {
    return Refuse(400, "Parameter columns: at least 1 is needed");
  }
  const auto hits = HitsIn(index, static_cast<std::uint32_t>(*hook), *range,
                           static_cast<std::size_t>(*columns));
  if (!hits.ok()) return Refuse(hits.status());
  Json items = Json::array();
  std::uint64_t total = 0;
  for (const HitsColumn& column : *hits) {
    total += column.hits;
    items.push_back({{"t", column.first_ns},
                     {"thread", column.thread},
                     {"hits", column.hits}});
  }
  return AnswerJson({{"total", total}, {"items", std::move(items)}});
}

}  // namespace

std::optional<HttpResponse> AnswerRange(const TimelineIndex& index,
                                        std::string_view name,
                                        ApiQuery& query) {
  if (name == "aggregate") return AnswerAggregate(index, query);
  if (name == "durations") return Durations(index, query);
  if (name == "longest") return Longest(index);
  if (name == "hits") return Hits(index, query);
  return std::nullopt;
}

}  // namespace countrace::viewer
