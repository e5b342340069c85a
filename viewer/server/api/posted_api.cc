#include "viewer/server/api/posted_api.h"

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/strings/str_format.h"
#include "viewer/server/api/index_api.h"
#include "viewer/server/tables/limited_query.h"
#include "viewer/server/tables/trace_notes.h"
#include "viewer/server/wire/api_answer.h"

namespace countrace::viewer {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostSqlBytes = 65536;  // of an argument

HttpResponse Notes(const std::string& trace_path, const Fingerprint& trace,
                   const HttpRequest& request) {
  if (request.method == "POST") {
    const Json body = Json::parse(request.body, nullptr, false);
    if (!body.is_object() || !body.contains("before") ||
        !body.contains("notes")) {
      return Refuse(400, "Expected {\"before\": [...], \"notes\": [...]}");
    }
    const absl::Status written =
        WriteNotes(trace_path, trace, body["before"], body["notes"]);
    if (absl::IsAborted(written)) {
      return Refuse(409, std::string(written.message()));
    }
    if (!written.ok()) return Refuse(written);
  }
  const auto notes = ReadNotes(trace_path, trace);
  if (!notes.ok()) return Refuse(notes.status());
  return AnswerJson({{"notes", *notes}});
}

HttpResponse Query(const std::string& trace_path, const HttpRequest& request) {
  const Json body = Json::parse(request.body, nullptr, false);
  const auto number = [&](const char* name) {
    const auto found = body.find(name);
    return found != body.end() && found->is_number_unsigned()
               ? std::optional(found->get<std::uint64_t>())
               : std::nullopt;
  };
  const auto sql = body.find("sql");
  if (sql == body.end() || !sql->is_string() ||
      number("from").has_value() != number("to").has_value()) {
    return Refuse(400, "Expected {\"sql\": text, \"from\": ns, \"to\": ns}");
  }
  const std::string& text = sql->get_ref<const std::string&>();
  if (text.size() > kMostSqlBytes || text.find('\0') != text.npos) {
    return Refuse(400, absl::StrFormat("The statement has %d bytes, at most %d "
                                       "and no NUL are allowed",
                                       text.size(), kMostSqlBytes));
  }
  std::optional<TimeRange> range;
  if (const auto from = number("from")) range = {*from, *number("to")};
  const auto answer = RunLimitedQuery(trace_path, text, range);
  if (absl::IsCancelled(answer.status())) {
    return Refuse(409, std::string(answer.status().message()));
  }
  if (!answer.ok()) return Refuse(answer.status());
  return AnswerJson(
      {{"csv", answer->csv}, {"cut", answer->cut}, {"said", answer->said}});
}

}  // namespace

std::optional<HttpResponse> AnswerPosted(const TimelineIndex& index,
                                         const TraceEvents* events,
                                         const HttpRequest& request,
                                         std::string_view name) {
  const bool is_query = name == "query";
  if (!is_query && name != "notes") return std::nullopt;
  const bool keeps_notes = events != nullptr && !events->is_copy();
  if (!keeps_notes && !is_query && request.method == "GET") {
    return AnswerJson({{"notes", Json::array()}});
  }
  if (events == nullptr) return Refuse(404, "No trace beside the index");
  // No other site's form can send JSON.
  if (request.method == "POST") {
    if (request.content_type != "application/json") {
      return Refuse(415, "Expected Content-Type: application/json");
    }
  } else if (is_query) {
    HttpResponse response = Refuse(405, "Only POST is allowed here");
    response.headers.emplace_back("Allow", "POST");
    return response;
  } else if (auto refused = RefuseUnlessGet(request)) {
    return refused;
  }
  if (is_query) return Query(events->trace_path(), request);
  if (!keeps_notes) {
    return Refuse(400,
                  "The page shows a copy that is removed in the end, so it "
                  "keeps no notes: view the recording when it has ended, or "
                  "what `countrace import -o` makes of another tool's trace");
  }
  return Notes(events->trace_path(), index.header().trace, request);
}

}  // namespace countrace::viewer
