#include "viewer/server/functions_api.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "rmap/samples/annotation.h"
#include "rmap/samples/listing.h"
#include "rmap/samples/sampled_amount.h"
#include "rmap/samples/samples_json.h"
#include "viewer/server/api_answer.h"
#include "viewer/server/api_bounds.h"
#include "viewer/server/index_api.h"
#include "viewer/server/sampled_ranges.h"
#include "viewer/server/trace_report.h"

namespace countrace::viewer {
namespace {

using Json = nlohmann::json;
using rmap::CodeRow;

constexpr std::uint32_t kLinesAround = 8;
constexpr std::size_t kMostChoices = 100;  // threads

SampledRanges& Ranges() {
  static auto& ranges = *new SampledRanges;
  return ranges;
}

// Names of code come from libdw, which is asked by one thread at a time.
std::mutex& Naming() {
  static auto& mutex = *new std::mutex;
  return mutex;
}

// A page that selects another range has no use for the last answer.
std::atomic<std::uint64_t> newest_table{0}, newest_listing{0};

// What a request is about, and its samples.
struct Wanted {
  SampledRangeKey key;
  ChosenSamples chosen;
  std::shared_ptr<const SampledRange> range = nullptr;
};

// Absent: `refused` says why.
std::optional<Wanted> Want(const TimelineIndex& index,
                           const TraceEvents& events, ApiQuery& query,
                           std::atomic<std::uint64_t>& newest,
                           HttpResponse& refused) {
  const auto table = ReportRange(index, query, "from", "to");
  if (!table) {
    refused = Refuse(400, query.error());
    return std::nullopt;
  }
  Wanted wanted{{events.trace_path(), IdOf(index), *table}, {}};
  for (const auto& [name, to] : {std::pair("process", &wanted.chosen.process),
                                 std::pair("thread", &wanted.chosen.thread)}) {
    if (!query.Has(name)) continue;
    const auto number = query.Number(name, std::nullopt, ~std::uint32_t{0});
    if (!number) {
      refused = Refuse(400, query.error());
      return std::nullopt;
    }
    *to = static_cast<std::uint32_t>(*number);
  }
  const std::uint64_t own = ++newest;
  auto range = Ranges().SamplesOf(
      wanted.key,
      [&newest, own](const logformat::Progress&) { return newest == own; });
  if (!range.ok()) {
    refused = absl::IsCancelled(range.status())
                  ? Refuse(409, "A later request took the place of this one")
                  : Refuse(500, std::string(range.status().message()));
    return std::nullopt;
  }
  wanted.range = *std::move(range);
  return wanted;
}

// All samples that were chosen, by event: what shares are of.
Json AllOf(const rmap::Samples& samples, const ChosenSamples& chosen) {
  const rmap::SampleChoice choice = {.chosen = ContextsOf(samples, chosen)};
  std::vector<rmap::SampleWeight> all(samples.events.size());
  for (const rmap::SampleSum& sum : samples.sums) {
    if (choice.Has(sum.context)) all[sum.event].Add(sum);
  }
  Json json = Json::array();
  for (std::size_t event = 0; event < all.size(); ++event) {
    json.push_back(
        {{"event", samples.events[event].name},
         {"samples", all[event].hits},
         {"value", all[event].periods / samples.events[event].periods}});
  }
  return json;
}

// The threads of the chosen process, of all of them without one, by their
// samples: what a reader can choose among.
Json ThreadsOf(const rmap::Samples& samples, const ChosenSamples& chosen) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> hits;
  const rmap::SampleChoice choice = {
      .chosen = ContextsOf(samples, {.process = chosen.process})};
  for (const rmap::SampleSum& sum : samples.sums) {
    if (!choice.Has(sum.context)) continue;
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

// Rows by a column, each event's together; equal ones stay in their order.
// False: there is no such column.
bool SortRows(std::string_view column, bool ascending,
              std::vector<const CodeRow*>& rows) {
  const auto sort = [&](auto value) {
    std::stable_sort(
        rows.begin(), rows.end(), [&](const CodeRow* a, const CodeRow* b) {
          if (a->event != b->event) return a->event < b->event;
          return ascending ? value(*a) < value(*b) : value(*b) < value(*a);
        });
  };
  using Text = const std::string&;
  if (column == "self") {
    sort([](const CodeRow& row) { return row.self.value; });
  } else if (column == "total") {
    sort([](const CodeRow& row) { return row.total.value; });
  } else if (column == "function") {
    sort([](const CodeRow& row) -> Text { return row.function; });
  } else if (column == "dso") {
    sort([](const CodeRow& row) -> Text { return row.dso; });
  } else if (column == "in") {
    sort([](const CodeRow& row) -> Text { return row.in; });
  } else {
    return false;
  }
  return true;
}

HttpResponse Functions(const TimelineIndex& index, const TraceEvents& events,
                       ApiQuery& query) {
  const auto offset = query.Number("offset", 0);
  if (!offset) return Refuse(400, query.error());
  const auto limit = query.Number("limit", kMaxTableRows, kMaxTableRows);
  if (!limit) return Refuse(400, query.error());
  const std::string_view order = query.Word("order");
  if (query.Has("order") && order != "ascending" && order != "descending") {
    return Refuse(400, "Parameter order: expected ascending or descending");
  }
  const std::string_view sort =
      query.Has("sort") ? query.Word("sort") : std::string_view("self");
  std::vector<const CodeRow*> rows;
  if (!SortRows(sort, false, rows)) {
    return Refuse(400,
                  "Parameter sort: expected self, total, function, in or dso");
  }
  HttpResponse refused;
  const auto wanted = Want(index, events, query, newest_table, refused);
  if (!wanted) return refused;
  const rmap::Samples& samples = wanted->range->samples;
  Json answer = {{"sampled", !samples.events.empty()},
                 {"total", 0},
                 {"rows", Json::array()},
                 {"books", Json::array()},
                 {"notes", Json::array()},
                 {"all", AllOf(samples, wanted->chosen)}};
  answer.update(ThreadsOf(samples, wanted->chosen));
  if (samples.events.empty()) return AnswerJson(answer);
  std::shared_ptr<const rmap::CodeTable> table;
  {
    const std::lock_guard lock(Naming());
    table = Ranges().FunctionsOf(wanted->key, wanted->range, wanted->chosen);
  }
  for (const CodeRow& row : table->rows) rows.push_back(&row);
  SortRows(sort, order == "ascending", rows);
  answer["total"] = rows.size();
  const std::size_t begin = std::min<std::uint64_t>(*offset, rows.size());
  for (const CodeRow* row : std::span(rows).subspan(
           begin, std::min<std::uint64_t>(*limit, rows.size() - begin))) {
    answer["rows"].push_back(Json(rmap::FunctionJson(samples, *row)));
  }
  for (rmap::SampleBooks& one : rmap::SampleBooksOf(samples)) {
    // The counts are of the whole recording.
    if (wanted->range->of_range) one.counted = 0;
    answer["books"].push_back(Json(rmap::BooksJson(samples, one)));
  }
  answer["notes"] = table->messages;
  return AnswerJson(answer);
}

// The text of the function's lines, with some around: of each file its pieces.
Json SourcesOf(const rmap::Listing& listing, std::vector<std::string>& notes) {
  Json sources = Json::array();
  std::size_t left = kMaxSourceLines;
  for (const auto& [file, lines] : rmap::ListedLines(listing, /*all=*/true)) {
    const auto found = listing.sources.find(file);
    if (found == listing.sources.end() || !found->second.is_here) continue;
    const std::vector<std::string>& texts = found->second.lines;
    std::size_t next = 1;  // the first line that is in no piece
    for (const std::uint32_t line : lines) {
      if (line == 0 || line > texts.size()) continue;
      const std::size_t begin =
          std::max<std::size_t>(next, line - std::min(line - 1, kLinesAround));
      const std::size_t end =
          std::min<std::size_t>(texts.size(), line + kLinesAround);
      if (begin > end) continue;
      if (end - begin >= left) {
        notes.push_back(absl::StrFormat(
            "The function has more than %d lines: others have no text here",
            kMaxSourceLines));
        return sources;
      }
      if (sources.empty() || next == 1 || begin != next) {
        sources.push_back(
            {{"file", file}, {"from", begin}, {"lines", Json::array()}});
      }
      for (std::size_t i = begin; i <= end; ++i, --left) {
        sources.back()["lines"].push_back(texts[i - 1]);
      }
      next = end + 1;
    }
  }
  return sources;
}

HttpResponse Annotate(const TimelineIndex& index, const TraceEvents& events,
                      ApiQuery& query) {
  rmap::ListingRequest request;
  for (const auto& [name, to] :
       {std::pair("function", &request.annotation.function),
        std::pair("dso", &request.annotation.dso)}) {
    const auto text = query.Text(name);
    if (!text) return Refuse(400, query.error());
    *to = *text;
  }
  if (request.annotation.function.empty()) {
    return Refuse(400, "Parameter function: expected the name of a function");
  }
  HttpResponse refused;
  const auto wanted = Want(index, events, query, newest_listing, refused);
  if (!wanted) return refused;
  const rmap::Samples& samples = wanted->range->samples;
  request.annotation.chosen = ContextsOf(samples, wanted->chosen);
  const auto listing = [&] {
    const std::lock_guard lock(Naming());
    return rmap::MakeListing(samples, request);
  }();
  if (!listing.ok()) return Refuse(listing.status());
  Json answer(rmap::ListingJson(*listing));
  std::vector<std::string> notes = listing->notes;
  if (!listing->disassembler.ok()) {
    notes.push_back(absl::StrFormat("No instructions: %s%s",
                                    listing->disassembler.message(),
                                    absl::IsNotFound(listing->disassembler)
                                        ? " (Debian's package binutils has it)"
                                        : ""));
  }
  answer["sources"] = SourcesOf(*listing, notes);
  answer["notes"] = std::move(notes);
  answer["all"] = AllOf(samples, wanted->chosen);
  return AnswerJson(answer);
}

}  // namespace

std::optional<HttpResponse> AnswerFunctions(const TimelineIndex& index,
                                            const TraceEvents* events,
                                            std::string_view name,
                                            ApiQuery& query) {
  if (name != "functions" && name != "annotate") return std::nullopt;
  if (events == nullptr) return Refuse(404, "No trace beside the index");
  HttpResponse response = name == "functions" ? Functions(index, *events, query)
                                              : Annotate(index, *events, query);
  malloc_trim(0);
  return response;
}

}  // namespace countrace::viewer
