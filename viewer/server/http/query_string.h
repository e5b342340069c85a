// A request target, split: its path and the parameters after '?'.
#ifndef COUNTRACE_VIEWER_SERVER_HTTP_QUERY_STRING_H_
#define COUNTRACE_VIEWER_SERVER_HTTP_QUERY_STRING_H_

#include <map>
#include <string>
#include <string_view>

namespace countrace::viewer {

// Path and parameters of a request target. Values are not percent-decoded: most
// of our parameters are numbers and plain words (ApiQuery::Text).
struct Target {
  std::string_view path;
  std::map<std::string, std::string, std::less<>> parameters;
};
Target ParseTarget(std::string_view target);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_HTTP_QUERY_STRING_H_
