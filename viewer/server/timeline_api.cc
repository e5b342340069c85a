#include "viewer/server/timeline_api.h"

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "viewer/server/api_answer.h"
#include "viewer/server/api_bounds.h"
#include "viewer/server/api_query.h"
#include "viewer/server/catalog_api.h"
#include "viewer/server/frames_api.h"
#include "viewer/server/instant_api.h"
#include "viewer/server/range_api.h"
#include "viewer/server/reports_api.h"
#include "viewer/server/rows_api.h"
#include "viewer/server/tiles_api.h"

namespace countrace::viewer {
namespace {

HttpResponse WrongMethod(const char* allowed) {
  HttpResponse response =
      Refuse(405, absl::StrFormat("Only %s is allowed here", allowed));
  response.headers.emplace_back("Allow", allowed);
  return response;
}

HttpResponse Events(const TimelineIndex& index, const TraceEvents* events,
                    ApiQuery& query) {
  const std::optional<std::uint64_t> time_ns = query.Number("t", std::nullopt);
  if (!time_ns) return Refuse(400, query.error());
  const std::optional<std::uint64_t> nth = query.Number("nth", 0);
  if (!nth) return Refuse(400, query.error());
  const std::optional<std::uint64_t> limit =
      query.Number("limit", kMaxEvents, kMaxEvents);
  if (!limit) return Refuse(400, query.error());
  const std::string_view direction = query.Word("dir");
  if (query.Has("dir") && direction != "next" && direction != "previous") {
    return Refuse(400, "Parameter dir: expected next or previous");
  }
  if (events == nullptr) return Refuse(404, "No trace beside the index");
  const auto page =
      events->Page(index.header().begin_ns, {*time_ns, *nth},
                   direction == "previous", static_cast<std::size_t>(*limit));
  if (!page.ok()) {
    return Refuse(500, std::string(page.status().message()));
  }
  return AnswerJson(*page);
}

// How far the newest index goes, and the one that is built.
HttpResponse Growth(const ServedIndexes& indexes) {
  const ServedIndexes::Growth growth = indexes.growth();
  if (growth.newest == nullptr) return Refuse(503, "No index yet");
  const FileHeader& header = growth.newest->header();
  const bool whole = growth.newest->is_whole() && !growth.live;
  const std::uint64_t end_ns =
      whole ? header.begin_ns + header.duration_ns : growth.trace_end_ns;
  nlohmann::json trace_ns = nullptr;
  if (end_ns > header.begin_ns) trace_ns = end_ns - header.begin_ns;
  nlohmann::json late_ns = nullptr;
  if (growth.live) {
    late_ns =
        std::chrono::nanoseconds(ServedIndexes::Clock::now() - growth.live_at)
            .count();
  }
  return AnswerJson({{"index", IdOf(*growth.newest)},
                     {"whole", whole},
                     {"live", growth.live},
                     {"late_ns", late_ns},
                     {"duration_ns", header.duration_ns},
                     {"trace_ns", trace_ns},
                     {"done", growth.progress.done},
                     {"total", growth.progress.total}});
}

// The file that a hook stands in.
HttpResponse Source(const TimelineIndex& index, const SourceFiles* sources,
                    ApiQuery& query) {
  const auto hook = query.Number("hook", std::nullopt);
  if (!hook) return Refuse(400, query.error());
  const auto refuse = [](std::string reason) {
    return AnswerJson({{"found", false}, {"reason", std::move(reason)}});
  };
  if (sources == nullptr) return refuse("No directory was named (--source)");
  for (const HookEntry& entry : index.hooks()) {
    if (entry.id != *hook) continue;
    const auto file = sources->Read(index.Text(entry.location));
    if (!file.ok()) return refuse(std::string(file.status().message()));
    return AnswerJson({{"found", true},
                       {"path", file->path},
                       {"line", file->line},
                       {"text", file->text}});
  }
  return Refuse(404, absl::StrFormat("No such hook: hook=%d", *hook));
}

HttpResponse Route(const TimelineIndex& index, const TraceEvents* events,
                   const HttpRequest& request, const SourceFiles* sources) {
  ApiQuery query(request);
  constexpr std::string_view kPrefix = "/api/v1/";
  if (!query.path().starts_with(kPrefix)) {
    return Refuse(404, "No such address");
  }
  const std::string_view name = query.path().substr(kPrefix.size());
  if (name == "tiles") {
    return request.method == "POST" ? AnswerTiles(index, request)
                                    : WrongMethod("POST");
  }
  if (name == "frames") {
    return request.method == "POST" ? AnswerFrames(index, request)
                                    : WrongMethod("POST");
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return WrongMethod("GET");
  }
  constexpr std::string_view kTile = "tile/";
  if (name.starts_with(kTile)) {
    return AnswerTile(index, name.substr(kTile.size()));
  }
  if (name == "events") return Events(index, events, query);
  if (name == "source") return Source(index, sources, query);
  if (auto response = AnswerReports(index, events, name, query)) {
    return *std::move(response);
  }
  for (const auto answer :
       {AnswerRows, AnswerCatalog, AnswerRange, AnswerInstant}) {
    if (auto response = answer(index, name, query)) {
      return *std::move(response);
    }
  }
  return Refuse(404, "No such address");
}

}  // namespace

HttpResponse AnswerApi(const TimelineIndex& index, const TraceEvents* events,
                       const HttpRequest& request, const SourceFiles* sources) {
  HttpResponse response = Route(index, events, request, sources);
  if (const absl::Status whole = index.CheckWhole(); !whole.ok()) {
    response =
        Refuse(500, absl::StrFormat("The timeline's index is gone, start "
                                    "`countrace view` again: %s",
                                    whole.message()));
  }
  return response;
}

HttpResponse AnswerApi(const ServedIndexes& indexes, const TraceEvents* events,
                       const HttpRequest& request, const SourceFiles* sources) {
  ApiQuery query(request);
  if (const absl::Status failure = indexes.growth().failure; !failure.ok()) {
    return Refuse(500, absl::StrFormat("The index of the whole trace could not "
                                       "be built: %s. Start `countrace view` "
                                       "again when that is mended",
                                       failure.message()));
  }
  if (query.path() == "/api/v1/index") {
    return request.method == "GET" || request.method == "HEAD"
               ? Growth(indexes)
               : WrongMethod("GET");
  }
  const std::string_view id = query.Word("index");
  if (const auto index = indexes.Find(id)) {
    return AnswerApi(*index, events, request, sources);
  }
  if (!id.empty()) return Refuse(410, "No such index; `index` names one");
  HttpResponse response =
      Refuse(503,
             "The index of the whole trace is being built; `index` says how "
             "far it is, and which part can be asked");
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

}  // namespace countrace::viewer
