// Answers of the API: JSON, and errors as JSON (API.md, "Conventions").
#ifndef COUNTRACE_VIEWER_SERVER_WIRE_API_ANSWER_H_
#define COUNTRACE_VIEWER_SERVER_WIRE_API_ANSWER_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/status.h"
#include "viewer/server/http/http_message.h"

namespace countrace::viewer {

HttpResponse AnswerJson(const nlohmann::json& json, int status = 200);
HttpResponse AnswerBinary(std::string bytes);
HttpResponse Refuse(int status, std::string message);
// 404 for NOT_FOUND, else 400.
HttpResponse Refuse(const absl::Status& status);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_WIRE_API_ANSWER_H_
