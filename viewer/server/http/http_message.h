// One HTTP request and answer, independent of any HTTP library: the interface
// that the site is written and tested against.
#ifndef COUNTRACE_VIEWER_SERVER_HTTP_HTTP_MESSAGE_H_
#define COUNTRACE_VIEWER_SERVER_HTTP_HTTP_MESSAGE_H_

#include <string>
#include <utility>
#include <vector>

namespace countrace::viewer {

// Header fields are empty if absent. Nothing here is trusted.
struct HttpRequest {
  std::string method;  // "GET", ...
  std::string target;  // path and query, as sent
  std::string host, origin, cookie, authorization, content_type, fetch_site;
  std::string body;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_HTTP_HTTP_MESSAGE_H_
