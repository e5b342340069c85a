#include "viewer/server/wire/api_answer.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace countrace::viewer {

using Json = nlohmann::json;

// Names come from a trace and may hold any bytes.
HttpResponse AnswerJson(const Json& json, int status) {
  return {.status = status,
          .content_type = "application/json",
          .body = json.dump(-1, ' ', false, Json::error_handler_t::replace),
          .headers = {}};
}

HttpResponse AnswerBinary(std::string bytes) {
  return {.status = 200,
          .content_type = "application/octet-stream",
          .body = std::move(bytes),
          .headers = {}};
}

HttpResponse Refuse(int status, std::string message) {
  return AnswerJson({{"error", std::move(message)}}, status);
}

HttpResponse Refuse(const absl::Status& status) {
  return Refuse(absl::IsNotFound(status) ? 404 : 400,
                std::string(status.message()));
}

}  // namespace countrace::viewer
