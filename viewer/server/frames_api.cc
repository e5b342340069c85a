#include "viewer/server/frames_api.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "viewer/server/api_answer.h"
#include "viewer/server/api_bounds.h"
#include "viewer/server/api_query.h"
#include "viewer/server/instant_api.h"
#include "viewer/server/range_api.h"

namespace countrace::viewer {
namespace {

using Json = nlohmann::json;
using Answer = std::optional<HttpResponse> (*)(const TimelineIndex&,
                                               std::string_view, ApiQuery&);

// What a GET of its own would answer.
HttpResponse Get(const TimelineIndex& index, Answer answer,
                 std::string_view name, std::string parameters) {
  HttpRequest request;
  request.method = "GET";
  request.target =
      absl::StrFormat("/api/v1/%s?%s", std::string(name), parameters);
  ApiQuery query(request);
  std::optional<HttpResponse> response = answer(index, name, query);
  return response ? *std::move(response) : Refuse(404, "No such address");
}

// Absent: it is there and no number of at most `most`.
std::optional<std::uint64_t> Number(const Json& json, const char* name,
                                    std::uint64_t most) {
  const auto found = json.find(name);
  if (found == json.end()) return most;
  if (!found->is_number_unsigned()) return std::nullopt;
  const auto number = found->get<std::uint64_t>();
  return number <= most ? std::optional(number) : std::nullopt;
}

}  // namespace

HttpResponse AnswerFrames(const TimelineIndex& index,
                          const HttpRequest& request) {
  if (request.content_type != "application/json") {
    return Refuse(415, "Expected Content-Type: application/json");
  }
  const Json json = Json::parse(request.body, nullptr, false);
  if (!json.is_object() || !json.contains("times") ||
      !json["times"].is_array() ||
      !std::all_of(
          json["times"].begin(), json["times"].end(),
          [](const Json& time) { return time.is_number_unsigned(); })) {
    return Refuse(400,
                  "Expected {\"times\": [NS, ...], \"threads\": N, "
                  "\"processes\": N}");
  }
  const Json& times = json["times"];
  if (times.size() > kMaxFrames) {
    return Refuse(400, absl::StrFormat("Too many frames: times=%d, limit=%d",
                                       times.size(), kMaxFrames));
  }
  const auto threads = Number(json, "threads", kMaxTableRows);
  const auto processes = Number(json, "processes", kMaxTableRows);
  if (!threads || !processes) {
    return Refuse(400, absl::StrFormat("threads and processes: expected a "
                                       "number of at most %d",
                                       kMaxTableRows));
  }
  std::string frames;
  for (const Json& time : times) {
    const auto time_ns = time.get<std::uint64_t>();
    const HttpResponse state =
        Get(index, AnswerInstant, "state",
            absl::StrFormat("t=%d&top=%d", time_ns, *threads));
    if (state.status != 200) return state;
    const HttpResponse so_far =
        Get(index, AnswerRange, "aggregate",
            absl::StrFormat("from=0&to=%d&tables=processes&top=%d", time_ns,
                            *processes));
    if (so_far.status != 200) return so_far;
    // The client requests again the frames that did not fit.
    if (!frames.empty() &&
        frames.size() + state.body.size() + so_far.body.size() >
            kMaxFramesBytes) {
      break;
    }
    absl::StrAppendFormat(&frames, "%s{\"state\":%s,\"so_far\":%s}",
                          frames.empty() ? "" : ",", state.body, so_far.body);
  }
  HttpResponse response = AnswerJson(nullptr);
  response.body = "{\"frames\":[" + frames + "]}";
  return response;
}

}  // namespace countrace::viewer
