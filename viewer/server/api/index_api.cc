#include "viewer/server/api/index_api.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "viewer/server/api/catalog_api.h"
#include "viewer/server/api/frames_api.h"
#include "viewer/server/api/instant_api.h"
#include "viewer/server/api/range_api.h"
#include "viewer/server/api/rows_api.h"
#include "viewer/server/api/tiles_api.h"
#include "viewer/server/wire/api_answer.h"
#include "viewer/server/wire/api_query.h"

namespace countrace::viewer {
namespace {

HttpResponse WrongMethod(const char* allowed) {
  HttpResponse response =
      Refuse(405, absl::StrFormat("Only %s is allowed here", allowed));
  response.headers.emplace_back("Allow", allowed);
  return response;
}

}  // namespace

std::optional<HttpResponse> RefuseUnlessGet(const HttpRequest& request) {
  if (request.method == "GET" || request.method == "HEAD") return std::nullopt;
  return WrongMethod("GET");
}

std::optional<HttpResponse> AnswerFromIndex(const TimelineIndex& index,
                                            const HttpRequest& request) {
  ApiQuery query(request);
  if (!query.path().starts_with(kApiPrefix)) {
    return Refuse(404, "No such address");
  }
  const std::string_view name = query.path().substr(kApiPrefix.size());
  if (name == "tiles" || name == "frames") {
    if (request.method != "POST") return WrongMethod("POST");
    return name == "tiles" ? AnswerTiles(index, request)
                           : AnswerFrames(index, request);
  }
  if (auto refused = RefuseUnlessGet(request)) return refused;
  constexpr std::string_view kTile = "tile/";
  if (name.starts_with(kTile)) {
    return AnswerTile(index, name.substr(kTile.size()));
  }
  for (const auto answer :
       {AnswerRows, AnswerCatalog, AnswerRange, AnswerInstant}) {
    if (auto response = answer(index, name, query)) return response;
  }
  return std::nullopt;
}

HttpResponse AnswerGrowth(const TimelineIndex& newest,
                          const IndexGrowth& growth) {
  const FileHeader& header = newest.header();
  const bool whole = newest.is_whole() && !growth.late_ns;
  const std::uint64_t end_ns =
      whole ? header.begin_ns + header.duration_ns : growth.trace_end_ns;
  nlohmann::json trace_ns = nullptr, late_ns = nullptr;
  if (end_ns > header.begin_ns) trace_ns = end_ns - header.begin_ns;
  if (growth.late_ns) late_ns = *growth.late_ns;
  return AnswerJson({{"index", IdOf(newest)},
                     {"whole", whole},
                     {"live", growth.late_ns.has_value()},
                     {"late_ns", late_ns},
                     {"duration_ns", header.duration_ns},
                     {"trace_ns", trace_ns},
                     {"done", growth.done},
                     {"total", growth.total}});
}

std::string IdOf(const TimelineIndex& index) {
  // It is of the checksums of all sections.
  return absl::StrFormat("%016x", index.header().header_checksum);
}

}  // namespace countrace::viewer
