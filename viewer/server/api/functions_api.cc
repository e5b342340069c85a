#include "viewer/server/api/functions_api.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "rmap/samples/code/annotation.h"
#include "rmap/samples/code/listing.h"
#include "rmap/samples/code/listing_json.h"
#include "viewer/server/api/index_api.h"
#include "viewer/server/http/http_server.h"
#include "viewer/server/tables/function_table.h"
#include "viewer/server/tables/sample_stacks.h"
#include "viewer/server/tables/sample_tree.h"
#include "viewer/server/tables/sampled_ranges.h"
#include "viewer/server/tables/trace_report.h"
#include "viewer/server/wire/api_answer.h"
#include "viewer/server/wire/api_bounds.h"

namespace countrace::viewer {
namespace {

using Json = nlohmann::json;

constexpr std::uint32_t kLinesAround = 8;

SampledRanges& Ranges() {
  static auto& ranges = *new SampledRanges;
  return ranges;
}

// A page that selects another range has no use for the last answer.
std::atomic<std::uint64_t> newest_table{0}, newest_listing{0}, newest_tree{0},
    newest_times{0}, newest_density{0}, newest_stacks{0};

// The right to name code, which one request has at a time, since files may need
// long. A later request of its kind takes the place of one that waits: one that
// names and one of each kind that waits leave threads for the rest of the page.
class Naming {
 public:
  Naming(const std::atomic<std::uint64_t>& newest, std::uint64_t own) {
    std::unique_lock lock(Line().mutex);
    Line().moved.wait(lock, [&] { return !Line().is_busy || newest != own; });
    is_admitted_ = newest == own;
    if (is_admitted_) Line().is_busy = true;
  }
  ~Naming() {
    if (!is_admitted_) return;
    const std::lock_guard lock(Line().mutex);
    Line().is_busy = false;
    Line().moved.notify_all();
  }
  Naming(const Naming&) = delete;
  Naming& operator=(const Naming&) = delete;
  bool is_admitted() const { return is_admitted_; }

  // The number of a request that has come.
  static std::uint64_t Arrive(std::atomic<std::uint64_t>& newest) {
    const std::lock_guard lock(Line().mutex);
    Line().moved.notify_all();
    return ++newest;
  }

 private:
  struct WaitingLine {
    std::mutex mutex;
    std::condition_variable moved;
    bool is_busy = false;
  };
  static WaitingLine& Line() {
    static auto& line = *new WaitingLine;
    return line;
  }
  bool is_admitted_ = false;
};
// And a query of each of two traces (limited_query.h).
static_assert(HttpLimits().threads > 1 + 6 + 2);

HttpResponse Replaced() {
  return Refuse(409, "A later request took the place of this one");
}

// What a request is about, and its samples.
struct Wanted {
  SampledRangeKey key;
  ChosenSamples chosen;
  std::shared_ptr<const SampledRange> range = nullptr;
  std::uint64_t number = 0;  // Naming::Arrive()
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
  const auto chosen = ParseChosenSamples(query);
  if (!chosen) {
    refused = Refuse(400, query.error());
    return std::nullopt;
  }
  wanted.chosen = *chosen;
  const std::uint64_t own = Naming::Arrive(newest);
  wanted.number = own;
  auto range = Ranges().SamplesOf(
      wanted.key,
      [&newest, own](const logformat::Progress&) { return newest == own; });
  if (!range.ok()) {
    refused = absl::IsCancelled(range.status())
                  ? Replaced()
                  : Refuse(500, std::string(range.status().message()));
    return std::nullopt;
  }
  wanted.range = *std::move(range);
  return wanted;
}

HttpResponse Functions(const TimelineIndex& index, const TraceEvents& events,
                       ApiQuery& query) {
  const auto page = ParseFunctionsPage(query);
  if (!page) return Refuse(400, query.error());
  HttpResponse refused;
  const auto wanted = Want(index, events, query, newest_table, refused);
  if (!wanted) return refused;
  const rmap::Samples& samples = wanted->range->samples;
  std::shared_ptr<const NamedFunctions> functions;
  if (!samples.events.empty()) {
    const Naming naming(newest_table, wanted->number);
    if (!naming.is_admitted()) return Replaced();
    functions =
        Ranges().FunctionsOf(wanted->key, wanted->range, wanted->chosen);
  }
  return AnswerFunctionsPage(samples, wanted->chosen, functions.get(), *page);
}

// `sample_tree`, `sample_times`.
HttpResponse Tree(const TimelineIndex& index, const TraceEvents& events,
                  ApiQuery& query, bool is_times) {
  SampleTreeRequest request;
  const auto event = query.Number("event", 0);
  if (!event) return Refuse(400, query.error());
  request.event = *event;
  request.callers = query.Word("callers") == "1";
  const auto function = query.Text("function"), dso = query.Text("dso");
  if (!function || !dso) return Refuse(400, query.error());
  request.function = *function;
  const auto columns =
      query.Number("columns", kMaxHitsColumns, kMaxHitsColumns);
  if (!columns) return Refuse(400, query.error());
  if (*columns == 0) {
    return Refuse(400, "Parameter columns: at least 1 is needed");
  }
  auto& newest = is_times ? newest_times : newest_tree;
  HttpResponse refused;
  const auto wanted = Want(index, events, query, newest, refused);
  if (!wanted) return refused;
  request.chosen = wanted->chosen;
  const Naming naming(newest, wanted->number);
  if (!naming.is_admitted()) return Replaced();
  const rmap::Samples& samples = wanted->range->samples;
  if (!is_times) return AnswerJson(SampleTree(samples, request));
  return AnswerJson(SampleTimes(samples, request, *dso, index.header().begin_ns,
                                index.header().duration_ns,
                                static_cast<std::size_t>(*columns)));
}

// `sample_density`: of all samples of the trace, so that they are read once.
HttpResponse Density(const TimelineIndex& index, const TraceEvents& events,
                     ApiQuery& query) {
  const auto threads = query.Numbers("threads", kMaxParents);
  if (!threads) return Refuse(400, query.error());
  const auto view = query.Range("view_from", "view_to");
  if (!view) return Refuse(400, query.error());
  const auto columns =
      query.Number("columns", kMaxHitsColumns, kMaxHitsColumns);
  if (!columns) return Refuse(400, query.error());
  if (*columns == 0) {
    return Refuse(400, "Parameter columns: at least 1 is needed");
  }
  HttpResponse refused;
  const auto wanted = Want(index, events, query, newest_density, refused);
  if (!wanted) return refused;
  const std::uint64_t begin_ns = index.header().begin_ns;
  return AnswerJson(SampleDensity(
      wanted->range->samples, *threads, begin_ns + view->begin_ns,
      begin_ns + view->end_ns, static_cast<std::size_t>(*columns)));
}

// `sample_stacks`: of all samples, too.
HttpResponse StacksInView(const TimelineIndex& index, const TraceEvents& events,
                          ApiQuery& query) {
  const auto threads = query.Numbers("threads", kMaxParents);
  if (!threads) return Refuse(400, query.error());
  const auto view = query.Range("view_from", "view_to");
  if (!view) return Refuse(400, query.error());
  HttpResponse refused;
  const auto wanted = Want(index, events, query, newest_stacks, refused);
  if (!wanted) return refused;
  const Naming naming(newest_stacks, wanted->number);
  if (!naming.is_admitted()) return Replaced();
  const std::uint64_t begin_ns = index.header().begin_ns;
  return AnswerJson(SampleStacks(wanted->range->samples, *threads, begin_ns,
                                 begin_ns + view->begin_ns,
                                 begin_ns + view->end_ns));
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
                      ApiQuery& query, const SourceFiles* sources) {
  rmap::ListingRequest request;
  if (sources != nullptr) request.sources = sources->Texts();
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
  absl::StatusOr<rmap::Listing> listing;
  {
    const Naming naming(newest_listing, wanted->number);
    if (!naming.is_admitted()) return Replaced();
    listing = rmap::MakeListing(samples, request);
  }
  if (!listing.ok()) return Refuse(listing.status());
  Json answer(rmap::ListingJson(*listing));
  std::vector<std::string> notes = listing->notes;
  if (!listing->disassembler.ok()) {
    notes.push_back(absl::StrFormat("No instructions: %s",
                                    listing->disassembler.message()));
  }
  answer["sources"] = SourcesOf(*listing, notes);
  answer["notes"] = std::move(notes);
  answer["all"] = SampledAll(samples, wanted->chosen);
  return AnswerJson(answer);
}

}  // namespace

std::optional<HttpResponse> AnswerFunctions(const TimelineIndex& index,
                                            const TraceEvents* events,
                                            std::string_view name,
                                            ApiQuery& query,
                                            const SourceFiles* sources) {
  const bool is_times = name == "sample_times";
  const bool is_tree = is_times || name == "sample_tree";
  if (name == "sample_density") {
    return events == nullptr ? AnswerJson({{"threads", nullptr}})
                             : Density(index, *events, query);
  }
  const bool is_stacks = name == "sample_stacks";
  if (name != "functions" && name != "annotate" && !is_tree && !is_stacks) {
    return std::nullopt;
  }
  if (events == nullptr) return Refuse(404, "No trace beside the index");
  HttpResponse response = is_tree     ? Tree(index, *events, query, is_times)
                          : is_stacks ? StacksInView(index, *events, query)
                          : name == "functions"
                              ? Functions(index, *events, query)
                              : Annotate(index, *events, query, sources);
  malloc_trim(0);
  return response;
}

}  // namespace countrace::viewer
