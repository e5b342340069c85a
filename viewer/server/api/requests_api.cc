#include "viewer/server/api/requests_api.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "viewer/server/tables/function_table.h"
#include "viewer/server/tables/joined_requests.h"
#include "viewer/server/wire/api_answer.h"
#include "viewer/server/wire/api_bounds.h"

namespace countrace::viewer {

HttpResponse AnswerRequests(const TimelineIndex& index,
                            const TraceEvents* events, ApiQuery& query) {
  JoinedRequests* const joined = events == nullptr ? nullptr : events->joined();
  if (joined == nullptr) return AnswerJson({{"join", nullptr}});
  const auto times = ReportedRange(index, query, "from", "to");
  if (!times) return Refuse(400, query.error());
  const auto offset = query.Number("offset", 0);
  if (!offset) return Refuse(400, query.error());
  const auto limit = query.Number("limit", kMaxRequests, kMaxRequests);
  if (!limit) return Refuse(400, query.error());
  const auto spans = query.Number("spans", 0, kMaxRequestSpans);
  if (!spans) return Refuse(400, query.error());
  if (*limit * *spans > kMaxRequestSpans) {
    return Refuse(400, absl::StrFormat("Parameters limit and spans: at most %d "
                                       "together, as limit x spans",
                                       kMaxRequestSpans));
  }
  const auto id = query.Text("id");
  if (!id) return Refuse(400, query.error());
  const std::string_view order = query.Word("order");
  if (query.Has("order") && order != "ascending" && order != "descending") {
    return Refuse(400, "Parameter order: expected ascending or descending");
  }
  const auto requests = joined->Of(events->trace_path());
  if (!requests.ok()) {
    const int code = absl::IsCancelled(requests.status()) ? 409 : 500;
    return Refuse(code, std::string(requests.status().message()));
  }
  const rmap::Requests& all = **requests;
  std::vector<std::uint32_t> rows;
  if (query.Has("id")) {
    if (const auto row = RequestNamed(all, *id)) rows.push_back(*row);
  } else {
    auto sorted =
        RequestRows(all, {times->from_ns, times->until_ns},
                    query.Has("sort") ? query.Word("sort") : "duration_ns",
                    order == "ascending");
    if (!sorted) {
      return Refuse(400,
                    "Parameter sort: expected id, begin_ns, duration_ns, "
                    "on_cpu_ns, wait_ns, blocked_ns, between_ns, threads or "
                    "calls");
    }
    rows = *std::move(sorted);
  }
  nlohmann::json answer = {{"join", base::EscapeName(joined->rule().text)},
                           {"total", rows.size()},
                           {"of", all.all.size()},
                           {"without_value", all.without_value},
                           {"left_out", all.left_out},
                           {"lost", all.lost.size()},
                           {"rows", nlohmann::json::array()}};
  const std::size_t begin = std::min<std::uint64_t>(*offset, rows.size());
  const auto page = std::span(rows).subspan(
      begin, std::min<std::uint64_t>(*limit, rows.size() - begin));
  for (const std::uint32_t row : page) {
    answer["rows"].push_back(
        RequestJson(all, row, index.header().begin_ns, *spans));
  }
  return AnswerJson(answer);
}

}  // namespace countrace::viewer
