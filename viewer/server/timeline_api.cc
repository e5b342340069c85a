#include "viewer/server/timeline_api.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "viewer/server/api_answer.h"
#include "viewer/server/api_bounds.h"
#include "viewer/server/api_query.h"
#include "viewer/server/catalog_api.h"
#include "viewer/server/frames_api.h"
#include "viewer/server/instant_api.h"
#include "viewer/server/range_api.h"
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

HttpResponse Route(const TimelineIndex& index, const TraceEvents* events,
                   const HttpRequest& request) {
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
  for (const auto answer : {AnswerCatalog, AnswerRange, AnswerInstant}) {
    if (auto response = answer(index, name, query)) {
      return *std::move(response);
    }
  }
  return Refuse(404, "No such address");
}

}  // namespace

HttpResponse AnswerApi(const TimelineIndex& index, const TraceEvents* events,
                       const HttpRequest& request) {
  HttpResponse response = Route(index, events, request);
  if (const absl::Status whole = index.CheckWhole(); !whole.ok()) {
    response =
        Refuse(500, absl::StrFormat("The timeline's index is gone, start "
                                    "`countrace view` again: %s",
                                    whole.message()));
  }
  return response;
}

}  // namespace countrace::viewer
