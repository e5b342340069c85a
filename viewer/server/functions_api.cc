#include "viewer/server/functions_api.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
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
#include "rmap/samples/annotation.h"
#include "rmap/samples/listing.h"
#include "rmap/samples/listing_json.h"
#include "viewer/server/api_answer.h"
#include "viewer/server/api_bounds.h"
#include "viewer/server/function_table.h"
#include "viewer/server/index_api.h"
#include "viewer/server/sampled_ranges.h"
#include "viewer/server/trace_report.h"

namespace countrace::viewer {
namespace {

using Json = nlohmann::json;

constexpr std::uint32_t kLinesAround = 8;

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
  const auto chosen = ParseChosenSamples(query);
  if (!chosen) {
    refused = Refuse(400, query.error());
    return std::nullopt;
  }
  wanted.chosen = *chosen;
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
    const std::lock_guard lock(Naming());
    functions =
        Ranges().FunctionsOf(wanted->key, wanted->range, wanted->chosen);
  }
  return AnswerFunctionsPage(samples, wanted->chosen, functions.get(), *page);
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
  answer["all"] = SampledAll(samples, wanted->chosen);
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
