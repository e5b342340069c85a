#include "viewer/server/api/frames_api.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "viewer/server/api/instant_api.h"
#include "viewer/server/api/range_api.h"
#include "viewer/server/wire/api_answer.h"
#include "viewer/server/wire/api_bounds.h"
#include "viewer/server/wire/api_query.h"

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

// `otherwise` if it is missing. Absent: it is no number of at most `most`.
std::optional<std::uint64_t> Number(const Json& json, const char* name,
                                    std::uint64_t otherwise,
                                    std::uint64_t most) {
  const auto found = json.find(name);
  if (found == json.end()) return otherwise;
  if (!found->is_number_unsigned()) return std::nullopt;
  const auto number = found->get<std::uint64_t>();
  return number <= most ? std::optional(number) : std::nullopt;
}

// The `aggregate` of the processes in a range.
HttpResponse Processes(const TimelineIndex& index, std::uint64_t from_ns,
                       std::uint64_t to_ns, std::uint64_t top) {
  return Get(index, AnswerRange, "aggregate",
             absl::StrFormat("from=%d&to=%d&tables=processes&top=%d", from_ns,
                             to_ns, top));
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
  const std::uint64_t any = ~std::uint64_t{0};
  const auto threads = Number(json, "threads", kMaxTableRows, kMaxTableRows);
  const auto processes =
      Number(json, "processes", kMaxTableRows, kMaxTableRows);
  const auto recent_processes =
      Number(json, "recent_processes", kMaxTableRows, kMaxTableRows);
  const auto since_ns = Number(json, "since", 0, any);
  const auto window_ns = Number(json, "window", 0, any);
  if (!threads || !processes || !recent_processes || !since_ns || !window_ns) {
    return Refuse(400, absl::StrFormat(
                           "threads, processes and recent_processes: expected "
                           "a number of at most %d; since and window: ns",
                           kMaxTableRows));
  }
  std::string frames;
  for (const Json& time : times) {
    const auto time_ns = time.get<std::uint64_t>();
    const HttpResponse parts[] = {
        Get(index, AnswerInstant, "state",
            absl::StrFormat("t=%d&top=%d&window=%d", time_ns, *threads,
                            *window_ns)),
        Processes(index, std::min(*since_ns, time_ns),
                  std::max(*since_ns, time_ns), *processes),
        Processes(index, time_ns - std::min(time_ns, *window_ns), time_ns,
                  *recent_processes)};
    std::size_t bytes = 0;
    for (const HttpResponse& part : parts) {
      if (part.status != 200) return part;
      bytes += part.body.size();
    }
    // The client requests again the frames that did not fit.
    if (!frames.empty() && frames.size() + bytes > kMaxFramesBytes) break;
    absl::StrAppendFormat(
        &frames, "%s{\"state\":%s,\"so_far\":%s,\"recent\":%s}",
        frames.empty() ? "" : ",", parts[0].body, parts[1].body, parts[2].body);
  }
  HttpResponse response = AnswerJson(nullptr);
  response.body = "{\"frames\":[" + frames + "]}";
  return response;
}

}  // namespace countrace::viewer
