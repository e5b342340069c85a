#include "viewer/server/tables/function_table.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "absl/strings/str_format.h"
#include "rmap/samples/rows/samples_json.h"
#include "rmap/samples/sums/event_books.h"
#include "rmap/samples/sums/sampled_amount.h"
#include "viewer/server/wire/api_answer.h"
#include "viewer/server/wire/api_bounds.h"

namespace countrace::viewer {
namespace {

using Json = nlohmann::json;
using rmap::SampleRow;

constexpr std::size_t kMostChoices = 100;  // threads

// Rows by a column, each event's together; equal ones stay in their order.
// False: there is no such column.
bool SortRows(std::string_view column, bool ascending,
              std::vector<const SampleRow*>& rows) {
  const auto sort = [&](auto value) {
    std::stable_sort(
        rows.begin(), rows.end(), [&](const SampleRow* a, const SampleRow* b) {
          if (a->event != b->event) return a->event < b->event;
          return ascending ? value(*a) < value(*b) : value(*b) < value(*a);
        });
  };
  using Text = const std::string&;
  if (column == "self") {
    sort([](const SampleRow& row) { return row.self.value; });
  } else if (column == "total") {
    sort([](const SampleRow& row) { return row.total.value; });
  } else if (column == "function") {
    sort([](const SampleRow& row) -> Text { return row.function; });
  } else if (column == "dso") {
    sort([](const SampleRow& row) -> Text { return row.dso; });
  } else if (column == "in") {
    sort([](const SampleRow& row) -> Text { return row.in; });
  } else {
    return false;
  }
  return true;
}

// The threads of the chosen process, of all of them without one, by their
// samples: what a reader can choose among.
Json ThreadsOf(const rmap::Samples& samples, const ChosenSamples& chosen,
               std::optional<std::uint64_t> event) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> hits;
  const rmap::SampleChoice choice = {
      .chosen = ContextsOf(samples, {.process = chosen.process})};
  for (const rmap::SampleSum& sum : samples.sums) {
    if (!choice.Has(sum.context) || (event && sum.event != *event)) continue;
    const rmap::SampleContext& context = samples.contexts[sum.context];
    hits[{static_cast<std::uint32_t>(context.process),
          static_cast<std::uint32_t>(context.thread)}] += sum.hits;
  }
  std::vector<std::pair<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t>>
      all(hits.begin(), hits.end());
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.second > b.second;
  });
  Json json = Json::array();
  for (const auto& [thread, samples_of] : all) {
    if (json.size() == kMostChoices) break;
    json.push_back({{"process", thread.first},
                    {"thread", thread.second},
                    {"samples", samples_of}});
  }
  return {{"threads", std::move(json)}, {"threads_total", all.size()}};
}

}  // namespace

std::optional<ReportedTimes> ReportedRange(const TimelineIndex& index,
                                           ApiQuery& query, const char* from,
                                           const char* to) {
  if (!query.Has(from) && !query.Has(to)) return ReportedTimes();
  const auto range = query.Range(from, to);
  if (!range) return std::nullopt;
  if (range->begin_ns == range->end_ns) {
    query.set_error(absl::StrFormat("The range is empty: %s=%d, %s=%d", from,
                                    range->begin_ns, to, range->end_ns));
    return std::nullopt;
  }
  const std::uint64_t begin_ns = index.header().begin_ns;
  ReportedTimes times;
  times.from_ns = begin_ns + range->begin_ns;
  // The end includes the last record.
  if (range->end_ns < index.header().duration_ns) {
    times.until_ns = begin_ns + range->end_ns;
  }
  return times;
}

std::optional<ChosenSamples> ParseChosenSamples(ApiQuery& query) {
  ChosenSamples chosen;
  for (const auto& [name, to] : {std::pair("process", &chosen.process),
                                 std::pair("thread", &chosen.thread)}) {
    if (!query.Has(name)) continue;
    const auto number = query.Number(name, std::nullopt, ~std::uint32_t{0});
    if (!number) return std::nullopt;
    *to = static_cast<std::uint32_t>(*number);
  }
  return chosen;
}

std::vector<bool> ContextsOf(const rmap::Samples& samples,
                             const ChosenSamples& chosen) {
  if (!chosen.process && !chosen.thread) return {};
  std::vector<bool> contexts;
  for (const rmap::SampleContext& context : samples.contexts) {
    const auto process = static_cast<std::uint32_t>(context.process);
    const auto thread = static_cast<std::uint32_t>(context.thread);
    contexts.push_back((!chosen.process || process == *chosen.process) &&
                       (!chosen.thread || thread == *chosen.thread));
  }
  return contexts;
}

std::optional<FunctionsPage> ParseFunctionsPage(ApiQuery& query) {
  FunctionsPage page;
  const auto offset = query.Number("offset", 0);
  if (!offset) return std::nullopt;
  const auto limit = query.Number("limit", kMaxTableRows, kMaxTableRows);
  if (!limit) return std::nullopt;
  page.offset = *offset;
  page.limit = *limit;
  const std::string_view order = query.Word("order");
  if (query.Has("order") && order != "ascending" && order != "descending") {
    query.set_error("Parameter order: expected ascending or descending");
    return std::nullopt;
  }
  page.ascending = order == "ascending";
  page.sort = query.Has("sort") ? query.Word("sort") : std::string_view("self");
  std::vector<const SampleRow*> none;
  if (!SortRows(page.sort, false, none)) {
    query.set_error(
        "Parameter sort: expected self, total, function, in or dso");
    return std::nullopt;
  }
  if (query.Has("event")) {
    page.event = query.Number("event", std::nullopt);
    if (!page.event) return std::nullopt;
  }
  return page;
}

NamedFunctions NameFunctions(const rmap::Samples& samples,
                             const std::vector<std::string>& in,
                             rmap::FramePlaces& places,
                             const ChosenSamples& chosen) {
  const rmap::SampleChoice choice = {.chosen = ContextsOf(samples, chosen)};
  NamedFunctions functions;
  functions.table = rmap::MakePlaceTable(samples, in, places, choice);
  functions.periods = rmap::ComparePeriods(samples, places, choice.chosen);
  return functions;
}

Json SampledAll(const rmap::Samples& samples, const ChosenSamples& chosen) {
  const rmap::SampleChoice choice = {.chosen = ContextsOf(samples, chosen)};
  std::vector<rmap::SampleWeight> all(samples.events.size());
  for (const rmap::SampleSum& sum : samples.sums) {
    if (choice.Has(sum.context)) all[sum.event].Add(sum, samples);
  }
  const std::vector<rmap::SampleTotal> totals = rmap::EmptyTotals(samples);
  Json json = Json::array();
  for (std::size_t event = 0; event < all.size(); ++event) {
    json.push_back(
        {{"event", samples.events[event].name},
         {"samples", all[event].hits},
         {"value", all[event].periods / samples.events[event].periods},
         {"exact", totals[event].of_whole && totals[event].missing == 0}});
  }
  return json;
}

HttpResponse AnswerFunctionsPage(const rmap::Samples& samples,
                                 const ChosenSamples& chosen,
                                 const NamedFunctions* functions,
                                 const FunctionsPage& page) {
  Json answer = {{"sampled", !samples.events.empty()},
                 {"total", 0},
                 {"rows", Json::array()},
                 {"books", Json::array()},
                 {"notes", Json::array()},
                 {"all", SampledAll(samples, chosen)}};
  answer.update(ThreadsOf(samples, chosen, page.event));
  if (functions == nullptr) return AnswerJson(answer);
  if (page.event && *page.event >= samples.events.size()) {
    return Refuse(400, "Parameter event: the trace has " +
                           std::to_string(samples.events.size()) +
                           " sampled events, from 0 on");
  }
  std::vector<const SampleRow*> rows;
  for (const SampleRow& row : functions->table.rows) {
    if (!page.event || row.event == *page.event) rows.push_back(&row);
  }
  SortRows(page.sort, page.ascending, rows);
  answer["total"] = rows.size();
  const std::size_t begin = std::min<std::uint64_t>(page.offset, rows.size());
  for (const SampleRow* row : std::span(rows).subspan(
           begin, std::min<std::uint64_t>(page.limit, rows.size() - begin))) {
    answer["rows"].push_back(Json(rmap::FunctionJson(samples, *row)));
  }
  const std::vector<rmap::SampleBooks> books = rmap::SampleBooksOf(samples);
  answer["books"] = Json(rmap::BooksJson(samples, books, functions->periods));
  answer["notes"] = functions->table.messages;
  return AnswerJson(answer);
}

}  // namespace countrace::viewer
