#include "viewer/server/api/timeline_api.h"

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "viewer/server/api/functions_api.h"
#include "viewer/server/api/index_api.h"
#include "viewer/server/api/posted_api.h"
#include "viewer/server/api/reported_range_api.h"
#include "viewer/server/api/reports_api.h"
#include "viewer/server/api/requests_api.h"
#include "viewer/server/api/trees_api.h"
#include "viewer/server/wire/api_answer.h"
#include "viewer/server/wire/api_bounds.h"
#include "viewer/server/wire/api_query.h"

namespace countrace::viewer {
namespace {

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
  if (events == nullptr) {
    return AnswerJson({{"items", nlohmann::json::array()}, {"more", false}});
  }
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
  IndexGrowth known{.done = growth.progress.done,
                    .total = growth.progress.total};
  if (growth.recorded != nullptr) {
    const TraceSpan& span = growth.recorded->span;
    known.trace_end_ns = span.begin_ns + span.duration_ns;
  }
  if (growth.live) {
    known.late_ns = static_cast<std::uint64_t>(
        std::chrono::nanoseconds(ServedIndexes::Clock::now() - growth.live_at)
            .count());
  }
  return AnswerGrowth(*growth.newest, known);
}

// What the heads of packets tell of the whole trace, by columns of its time.
HttpResponse Recorded(const ServedIndexes& indexes) {
  const auto recorded = indexes.growth().recorded;
  if (recorded == nullptr) return Refuse(404, "No first part was indexed");
  return AnswerJson({{"duration_ns", recorded->span.duration_ns},
                     {"cpu_bytes", recorded->cpus},
                     {"thread_bytes", recorded->threads},
                     {"lost", recorded->lost}});
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
  const std::string_view name = query.path().starts_with(kApiPrefix)
                                    ? query.path().substr(kApiPrefix.size())
                                    : std::string_view();
  if (auto response = AnswerPosted(index, events, request, name)) {
    return *std::move(response);
  }
  if (request.method == "GET") {
    if (auto response = AnswerReportedRange(index, events, name, query)) {
      return *std::move(response);
    }
  }
  if (auto response = AnswerFromIndex(index, request)) {
    return *std::move(response);
  }
  if (name == "events") return Events(index, events, query);
  if (name == "requests") return AnswerRequests(index, events, query);
  if (name == "source") return Source(index, sources, query);
  if (name == "trees") return AnswerTrees(index, events, query);
  if (auto response = AnswerReports(index, events, name, query)) {
    return *std::move(response);
  }
  if (auto response = AnswerFunctions(index, events, name, query, sources)) {
    return *std::move(response);
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
  const bool is_growth = query.path() == "/api/v1/index";
  if (is_growth || query.path() == "/api/v1/recorded") {
    if (auto refused = RefuseUnlessGet(request)) return *std::move(refused);
    return is_growth ? Growth(indexes) : Recorded(indexes);
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
